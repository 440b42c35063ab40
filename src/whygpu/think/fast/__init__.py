"""The fast path: quantised weights as they lie in the file, activations as bytes, one kernel a pass.

In the order in which data flows: ``pack`` (weights, 16 rows side by side), ``activations`` (norms, rounding
to bytes, activation functions), ``products`` (16 rows times tokens), ``attention``, ``forward`` (the kernel
that runs all layers), ``run`` (its buffers, its ledger).
"""
