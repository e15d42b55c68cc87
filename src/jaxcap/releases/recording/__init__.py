"""Recordings of releases: how they are made, and kept.

- ``environments``: a virtual environment for each release.
- ``recorder``: measures all releases in turns.
- ``files``: the files of a recording, and the rules for them.
"""
