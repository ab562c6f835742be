"""`python -m veclink` and the command `veclink`: the command line, its imports watched as well as its work."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly with 130, also while its modules are still being loaded.

    SIGTERM ends it with 143: by the system itself until the modules are loaded, and then as quietly as Ctrl-C.
    """
    try:
        from veclink.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(130)  # cli.shared.INTERRUPTED, which may not be there yet
    run()


if __name__ == "__main__":
    main()
