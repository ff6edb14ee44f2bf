"""What the command line understands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.command.demo import demo
from numloom.command.info import info
from numloom.device import registry


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (of the process, if None) name; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m numloom", description="NumPy programs, fused, on the GPU")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo_parser = commands.add_parser("demo", help="run three programs on real data under NumPy and numloom")
    demo_parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the pictures")
    demo_parser.add_argument("--device", help="auto, cpu, cuda or cuda:N; what is found if not given")
    demo_parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    commands.add_parser("info", help="devices, libraries, compilers, the cache, and what is missing")
    options = parser.parse_args(arguments)
    if options.command == "info":
        return info()
    try:
        if options.device:
            registry.use(options.device)
        return demo(options.output, quick=options.quick)
    except (DeviceError, MissingDependencyError, ValueError) as error:
        parser.exit(2, f"{error}\n")
