"""In which release a function of yours changed.

- ``trials``: measures it under several releases.
- ``bisection``: finds the two releases between which it changed.
"""
