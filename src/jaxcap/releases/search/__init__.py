"""In which release a function of yours changed.

- ``functions``: loads the function.
- ``trials``: measures it under several releases.
- ``bisection``: finds the two releases between which it changed.
"""
