"""The fast path: the pipeline's stages as Numba kernels on the engine's threads."""
