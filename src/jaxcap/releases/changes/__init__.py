"""What changed from release to release.

- ``series``: a benchmark under all releases, and ratios with intervals.
- ``comparison``: all benchmarks of a machine, and which of their differences count as changes.
- ``causes``: known causes of changes.
- ``claims``: claims of the tutorials, checked under each release.
- ``outlook``: what is known about a single release.
- ``replays``: public issues, replayed.
- ``spans``: names of spans of releases.
"""
