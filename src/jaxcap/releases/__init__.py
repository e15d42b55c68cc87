"""JAX by release: how the speed of the same computations changed from one release to the next.

What is measured, and how:

- ``benchmarks``: the programs.
- ``quantities``: what is compared of each.
- ``environments``: a virtual environment for each release.
- ``recording``: measures all releases in turns.
- ``files``: the files of a recording, and the rules for them.
- ``recorded``: recordings that come with the package.

What changed:

- ``comparison``: ratios with intervals, and which of them count as changes.
- ``claims``: claims of the tutorials, checked under each release.
- ``replays``: public issues, replayed.
- ``spans``: names of spans of releases.
- ``figures``: figures of all this.

In which release a function of yours changed:

- ``trials``: measures it under several releases.
- ``bisection``: searches.
"""
