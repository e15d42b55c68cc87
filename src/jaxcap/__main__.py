"""Entry point of the ``jaxcap`` command, also as ``python -m jaxcap``."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command. Users may press Ctrl-C while it is still being imported."""
    try:
        from jaxcap.cli import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
