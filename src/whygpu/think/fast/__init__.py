"""The fast path: weights as they lie in the file, activations as bytes, one kernel a pass.

In the order in which data flows: ``formats`` and ``pack`` (weights, 16 rows side by side), ``load`` (all of a
checkpoint's), ``activations`` (norms, rounding to bytes, activation functions), ``codes`` and ``products``
(16 rows times tokens), ``kernels`` (one function a block type), ``attention`` and ``attend``, ``stages``,
``mlp``, ``experts``, ``forward`` (the kernel that runs all layers), ``run`` (its buffers, its ledger).
"""
