"""Tools for JAX programs, which tutorials introduce and measure.

- ``prng``: streams of random keys, each of which is returned only once.
- ``transforms``: JAX's transformations with types that checkers understand.
"""
