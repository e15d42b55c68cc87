"""JAX by release: how the speed of the same computations changed from one release to the next."""
