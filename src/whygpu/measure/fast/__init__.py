"""Kernels of the bandwidth probe (Numba)."""
