"""What the command line understands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.base.later import Later, load
from numloom.command.run import PAGE, REPORTS, run
from numloom.command.serve.dispatch import FALLBACKS
from numloom.device import registry

if TYPE_CHECKING:
    import argparse
else:
    argparse = Later("argparse")

ACTIONS = ("list", "clear", "verify")
"""What ``cache`` does."""


def _command(name: str) -> Any:
    """A command, whose libraries (of tables and progress, say) are imported when it is given: `run` needs none."""
    return getattr(importlib.import_module(f"numloom.command.{name}"), name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (of the process, if None) name; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    plain = read_run(words[1:]) if words[:1] == ["run"] else None
    return _other(words) if plain is None else _run(plain)


def read_run(words: Sequence[str]) -> SimpleNamespace | None:
    """The options of ``run``, where these words are plain ones; None where `argparse` is to read them.

    Making a parser takes as long as a tenth of the start, and knows abbreviations, mistakes and the help.

    Examples
    --------
    >>> read_run(["--report", "none", "script.py", "--report"]).script
    ['script.py', '--report']
    >>> read_run(["--rep", "none", "script.py"]) is None
    True
    """
    found = SimpleNamespace(
        script=None, module=None, code=None, device=None, cupy=False, report="text", report_file=None,
        fallback="quiet", also=[], keep=[],
    )  # fmt: skip
    place = 0
    while place < len(words):
        word, rest = words[place], list(words[place + 1 :])
        if word in _KINDS and rest:
            setattr(found, _KINDS[word], rest)
            return found
        if not word.startswith("-"):
            found.script = [word, *rest]
            return found
        if word == "--cupy":
            found.cupy = True
            place += 1
            continue
        if word not in _WITH_VALUE or not rest or rest[0].startswith("-"):
            return None
        value, name = rest[0], word[2:].replace("-", "_")
        if (name == "report" and not _is_report(value)) or (name == "fallback" and value not in FALLBACKS):
            return None
        if name in ("also", "keep"):
            getattr(found, name).append(value)
        else:
            setattr(found, name, value)
        place += 2
    return None


_KINDS = {"-m": "module", "-c": "code"}
_WITH_VALUE = frozenset(("--device", "--report", "--report-file", "--fallback", "--also", "--keep"))


def _other(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m numloom", description="NumPy programs, fused, on the GPU")
    parser.add_argument(
        "--version", action="version", version=f"numloom {importlib.import_module('numloom').__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo_parser = commands.add_parser("demo", help="run three programs on real data under NumPy and numloom")
    demo_parser.add_argument("--output", default="demo-output", help="folder for the pictures")
    demo_parser.add_argument("--device", help="auto, cpu, cuda or cuda:N; what is found if not given")
    demo_parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    commands.add_parser("info", help="devices, libraries, compilers, the cache, and what is missing")
    cache_parser = commands.add_parser("cache", help="the compiled kernels that are kept on disk")
    cache_parser.add_argument(
        "action", choices=ACTIONS, nargs="?", default="list",
        help="list them, clear the folder, or verify each and delete what is damaged",
    )  # fmt: skip
    bench_parser = commands.add_parser("bench", help="a table of a minute beside NumPy, on the device at hand")
    bench_parser.add_argument("--device", help="auto, cpu, cuda or cuda:N; what is found if not given")
    bench_parser.add_argument("--quick", action="store_true", help="a tenth of the time, for a first look")
    _add_run(commands)
    options = parser.parse_args(words)
    if options.command == "cache":
        return int(_command("cache")(options.action))
    if options.command == "info":
        return int(_command("info")())
    if options.command == "run":
        if sum(bool(getattr(options, kind)) for kind in ("script", "module", "code")) != 1:
            parser.error("run takes a script, or -m and a module, or -c and code")
        return _run(options)
    try:
        if options.device:
            registry.use(options.device)
        if options.command == "bench":
            return int(_command("bench")(quick=options.quick))
        return int(_command("demo")(load("pathlib").Path(options.output), quick=options.quick))
    except (DeviceError, MissingDependencyError, ValueError) as error:
        _stop(error)


def _stop(error: Exception) -> NoReturn:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(2)


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a NumPy program with numpy served by numloom",
        usage="python -m numloom run [options] (script.py | -m module | -c code) [arguments of the program]",
    )
    parser.add_argument("script", nargs=argparse.REMAINDER, help="a script and its arguments")
    parser.add_argument("-m", nargs=argparse.REMAINDER, dest="module", help="a module and its arguments")
    parser.add_argument("-c", nargs=argparse.REMAINDER, dest="code", help="code and its arguments")
    parser.add_argument("--device", help="auto, cpu, cuda or cuda:N; what is found if not given")
    parser.add_argument("--cupy", action="store_true", help="serve cupy and cupyx instead of numpy, which stays NumPy")
    parser.add_argument(
        "--report", type=_report, default="text", metavar="KIND",
        help="what is said at the end, on standard error: text, json, html or none; FILE.html also writes the "
        "program's source with the time of each line",
    )  # fmt: skip
    parser.add_argument("--report-file", metavar="FILE", help="where the report is written instead")
    parser.add_argument(
        "--fallback",
        choices=FALLBACKS,
        default="quiet",
        help="what is done where NumPy answers for numloom: an error, a warning, or a line of the report",
    )
    parser.add_argument(
        "--also", action="append", default=[], metavar="PACKAGE", help="an installed package to be served as well"
    )
    parser.add_argument(
        "--keep", action="append", default=[], metavar="PACKAGE", help="a package of the program that keeps NumPy"
    )


def _is_report(text: str) -> bool:
    return text in REPORTS or text.endswith(PAGE)


def _report(text: str) -> str:
    if not _is_report(text):
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(REPORTS)}, and no name of a file FILE{PAGE}")
    return text


def _run(options: Any) -> int:
    kind, arguments = next((kind, given) for kind in ("script", "module", "code") if (given := getattr(options, kind)))
    try:
        if options.device:
            registry.use(options.device)
        return run(
            arguments,
            kind=kind,
            report=options.report,
            report_file=options.report_file,
            fallback=options.fallback,
            also=tuple(options.also),
            keep=tuple(options.keep),
            cupy=options.cupy,
        )
    except (DeviceError, FileNotFoundError) as error:
        _stop(error)
