"""JAX by release: how the speed of the same computations changed from one release to the next.

- ``recorded``: recordings that come with the package, or your own.
- ``figures``: figures of what changed.
- ``benchmarks``: the programs that are measured.
- ``quantities``: what is compared of each.
- ``recording``: environments of all releases, whose processes take turns.
- ``changes``: what changed from release to release.
- ``search``: in which release a function of yours changed.
"""
