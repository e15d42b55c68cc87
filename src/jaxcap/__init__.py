"""Learn JAX by measuring it: the package that the tutorials import.

Nothing is re-exported here, so that ``import jaxcap`` costs nothing: import the module that you
need, as in ``from jaxcap.measure.timing import compare``.
"""

__version__ = "0.1.0"
