"""The computations that the tutorials time: pure functions without clock, output or state.

- ``autodiff`` and ``autodiff_torch``: derivatives by JAX, by differences and by PyTorch.
- ``batching``: losses and distances, for one example and for many.
- ``bits``: a count and the training of a network, in formats that may be too short.
- ``calibration``: two simulated sensors, and ways to fit one to the other.
- ``collectives``: what devices send each other, from the view of one of them.
- ``convolution``: convolution and pooling for CPUs.
- ``dispatch``: operations on arrays so small that the call costs most.
- ``elementwise``: activation functions and others that treat each element by itself.
- ``keys``: many random keys, one after another.
- ``linalg``: large random matrices, their products and inverses.
- ``loops``: loops and array lengths that depend on a number.
- ``memory``: a deep stack of layers, and what its gradient remembers.
- ``network``: a small network, which takes long to compile.
- ``pendulum``: a pendulum that swings in each kind of loop.
- ``placement``: points placed by their distances, with a gradient that is NaN.
- ``precision``: JAX's 64-bit mode for one function.
- ``pytrees``: the same numbers in trees of different structure.
- ``sharded_step``: a training step whose arrays lie on several devices in several ways.
- ``sharding``: a gradient that several devices share.
- ``stacks``: a training step with Flax NNX and without.
- ``updates`` and ``updates_torch``: changed elements of arrays, sums by group, and reading by index;
  most of them by JAX and by PyTorch.
"""
