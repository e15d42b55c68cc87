"""``python -m jaxcap`` is the command ``jaxcap``."""

from jaxcap.cli import main

main()
