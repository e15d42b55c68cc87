"""The computations that the tutorials time: pure functions without clock, output or state.

- ``autodiff`` and ``autodiff_torch``: derivatives by JAX, by differences and by PyTorch.
- ``batching``: losses and distances, for one example and for many.
- ``calibration``: two simulated sensors, and ways to fit one to the other.
- ``convolution``: convolution and pooling for CPUs.
- ``dispatch``: operations on arrays so small that the call costs most.
- ``elementwise``: activation functions and others that treat each element by itself.
- ``keys``: many random keys, one after another.
- ``linalg``: large random matrices, their products and inverses.
- ``loops``: loops and array lengths that depend on a number.
- ``memory``: a deep stack of layers, and what its gradient remembers.
- ``pendulum``: a pendulum that swings in each kind of loop.
- ``placement``: points placed by their distances, with a gradient that is NaN.
- ``precision``: JAX's 64-bit mode for one function.
- ``random_model``: a random model evaluated many times.
- ``sharding``: a gradient that several devices share.
- ``updates``: changed elements of arrays, and sums by group.
"""
