"""``%load_ext numloom``: in IPython and Jupyter, cells get numpy served by numloom from then on, and magics.

``%numloom`` says what ran where, ``%gpu_timeit`` times until results are there, ``%explain`` shows what would run.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from typing import Any

from numloom.api.inspect import explain
from numloom.api.timing import Benchmark, benchmark
from numloom.array.ndarray import ndarray
from numloom.command.serve.namespace import Namespace, Server
from numloom.command.serve.program import ServedProgram
from numloom.graph.source_location import set_namer

_RESULT = "_numloom_result"
_servers: dict[int, Server] = {}


def load(ipython: Any) -> None:
    """Serve numpy to the cells of this shell, as ``%load_ext numloom`` asks.

    Names that are bound to NumPy's modules already (``np``) are bound to ours; arrays that are there stay as they are.
    Modules in the working folder belong to the program, installed libraries keep NumPy. ``%numloom`` prints what ran
    where since then, ``%numloom json`` as JSON; ``%gpu_timeit`` and ``%explain`` are `timed` and `explained`.

    Parameters
    ----------
    ipython : IPython.core.interactiveshell.InteractiveShell
        The shell.
    """
    if id(ipython) in _servers:
        return
    server = _servers[id(ipython)] = Server(ServedProgram((os.getcwd(),)))
    server.__enter__()
    for name, value in list(ipython.user_ns.items()):
        if not name.startswith("_") and _is_numpy(value) and not isinstance(value, Namespace):
            ipython.user_ns[name] = server.module(value.__name__)

    def report(line: str = "") -> None:
        """Print what ran where since the extension was loaded; ``json``: as JSON."""
        print(server.ledger.as_json() if line.strip() == "json" else server.ledger.as_text())

    def timeit(line: str, cell: str | None = None) -> Benchmark:
        """Time a statement or a cell until its results are there: ``%gpu_timeit [-n CALLS] [-t SECONDS] statement``."""
        return timed(ipython, line, cell)

    def show(line: str, cell: str | None = None) -> Any:
        """Show what is recorded for an expression, or for the last one of a cell, and how it would run."""
        return explained(ipython, line, cell)

    set_namer(lambda file, line: _cell_name(ipython, file, line))
    ipython.register_magic_function(report, "line", "numloom")
    ipython.register_magic_function(timeit, "line_cell", "gpu_timeit")
    ipython.register_magic_function(show, "line_cell", "explain")


def unload(ipython: Any) -> None:
    """Give the cells NumPy again, as ``%unload_ext numloom`` asks.

    Parameters
    ----------
    ipython : IPython.core.interactiveshell.InteractiveShell
        The shell.
    """
    server = _servers.pop(id(ipython), None)
    if server is None:
        return
    server.__exit__()
    set_namer(None)
    for name, value in list(ipython.user_ns.items()):
        if isinstance(value, Namespace):
            ipython.user_ns[name] = sys.modules.get(value.__name__, value)


def timed(ipython: Any, line: str, cell: str | None = None) -> Benchmark:
    """What ``%gpu_timeit`` gives: times of a statement, or of a cell, until the results are there.

    Each call ends when what it recorded has run and the device is done, so it works on a GPU and on a CPU alike
    (``%timeit`` would time the recording). Names that the statement assigns are gone afterwards.

    Parameters
    ----------
    ipython : IPython.core.interactiveshell.InteractiveShell
        The shell, in whose names the code runs.
    line, cell : str
        ``[-n CALLS] [-t SECONDS]`` and the statement; or these, and the cell.

    Returns
    -------
    Benchmark
        Shown, it is one line.
    """
    options, code = _options(line, {"-n": 10_000.0, "-t": 1.0})
    if not (code if cell is None else cell).strip():
        raise ValueError("%gpu_timeit needs a statement: %gpu_timeit np.sin(x)")
    if cell is not None and code:
        raise ValueError(f"%%gpu_timeit takes -n CALLS and -t SECONDS, and the code below; got {code!r}")
    run = _compiled(ipython, code if cell is None else cell)

    warm = 3 if options["-n"] >= 3 else 1
    return benchmark(run, n_repeat=int(options["-n"]), max_duration=options["-t"], n_warmup=warm, name="the code")


def explained(ipython: Any, line: str, cell: str | None = None) -> Any:
    """What ``%explain`` gives: the tree, plan and kernels of an array, before it is computed.

    Parameters
    ----------
    ipython : IPython.core.interactiveshell.InteractiveShell
        The shell, in whose names the code runs; what a cell assigns is kept.
    line, cell : str
        The expression; or nothing, and the cell, whose last expression or assignment is explained.

    Returns
    -------
    Explanation
        In a notebook it is a picture.
    """
    if cell is not None and line.strip():
        raise ValueError(f"%%explain takes the code below it, and nothing on its own line; got {line.strip()!r}")
    names = _compiled(ipython, line if cell is None else cell)()
    result = names.pop(_RESULT, None)
    if result is None and names:
        result = names[next(reversed(names))]
    if cell is not None:
        ipython.user_ns.update(names)
    if type(result) is not ndarray:
        raise TypeError(
            f"%explain shows what is recorded for an array of numloom, and the last value here is a "
            f"{type(result).__name__}: end the code with an array"
        )
    return explain(result)


def _options(line: str, given: dict[str, float]) -> tuple[dict[str, float], str]:
    """Numbers after ``-n`` and the like at the start of a line, and the rest of it."""
    options, rest = dict(given), line.strip()
    while rest[:2] in options:
        name = rest[:2]
        word, _, rest = rest[2:].strip().partition(" ")
        try:
            options[name] = float(word)
        except ValueError:
            raise ValueError(f"{name} takes a number, got {word!r}") from None
        if not options[name] > 0:
            raise ValueError(f"{name} must be above 0, got {word}")
        rest = rest.strip()
    return options, rest


def _compiled(ipython: Any, text: str) -> Callable[[], dict[str, Any]]:
    """Code that runs in a copy of the shell's names, and gives what it assigns, its last expression as well."""
    transform = getattr(ipython, "transform_cell", None)
    tree = ast.parse(transform(text) if transform is not None else text)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        assign = ast.Assign([ast.Name(_RESULT, ast.Store())], last.value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(assign, last))
    assigned = {
        node.id: None for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    code = compile(tree, "<magic>", "exec")
    space = dict(ipython.user_ns)

    def run() -> dict[str, Any]:
        exec(code, space)
        return {name: space[name] for name in assigned if name in space}

    return run


def _cell_name(ipython: Any, file: str, line: int) -> str:
    """A line of a cell as tracebacks name it ("Cell In[3], line 2"); of other files, file and line."""
    describe = getattr(getattr(ipython, "compile", None), "format_code_name", None)
    found = describe(file) if describe is not None else None
    return f"{found[0]} {found[1]}, line {line}" if found else f"{file}:{line}"


def _is_numpy(value: Any) -> bool:
    return isinstance(value, type(os)) and value.__name__.partition(".")[0] == "numpy"
