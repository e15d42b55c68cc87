"""The ``jaxcap`` command, as ``python -m jaxcap`` too."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command. Its import takes long enough to be interrupted."""
    try:
        from jaxcap.cli import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
