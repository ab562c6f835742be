"""`python -m veclink_bench NAME …`: one study, measurement, picture or (in full, unless `--quick`) experiment.

It needs no installed package: `PYTHONPATH=src:bench` is enough in a checkout.
"""

from __future__ import annotations

import sys
from importlib import import_module

from veclink.errors import VeclinkError
from veclink_bench.catalogue import ENTRIES
from veclink_bench.experiments import EXPERIMENTS


def main() -> None:
    """Import the module of the name that was given, and run it with the options after the name."""
    name, *options = sys.argv[1:] or [""]
    if name in EXPERIMENTS or name == "reproduce":
        from veclink_bench.command import bench

        bench(args=[name, *options] if name == "reproduce" else [name, "--full", *options])
    if name not in ENTRIES:
        sys.exit(f"veclink: There is no {name!r} here; there are {', '.join((*EXPERIMENTS, *ENTRIES))}.")
    sys.argv = [f"veclink bench {name}", *options]
    try:
        import_module(f"veclink_bench.{ENTRIES[name].module}").main()
    except VeclinkError as error:
        sys.exit(f"veclink: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
