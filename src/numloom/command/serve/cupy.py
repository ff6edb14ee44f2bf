"""``run --cupy``: ``import cupy`` and ``import cupyx`` in the program give numloom's modules of these names."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from numloom.command.serve.program import ServedProgram

SERVED = ("cupy", "cupyx")
_OURS = __name__.partition(".")[0]


class CupyServer:
    """Serves CuPy's names to one program, while it is active (a context manager). NumPy stays NumPy.

    Parameters
    ----------
    program : ServedProgram
        Whose imports give our modules; CuPy itself need not be installed.

    Notes
    -----
    `importlib.import_module` gives them, too: to the program, and where no CuPy is installed to libraries that ask on
    its behalf, as `unittest.mock.patch` and pytest's filters of warnings do.
    """

    def __init__(self, program: ServedProgram) -> None:
        self.program = program
        self._open = ExitStack()
        self._before: Any = None
        self._find_before: Any = None

    def __enter__(self) -> CupyServer:
        before = self._before = builtins.__import__
        program = self.program

        def __import__(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Any = (),
            level: int = 0,
        ) -> Any:
            top = name.partition(".")[0]
            if level == 0 and top in SERVED and globals is not None and program.owns(globals):
                module = served(name)
                return module if fromlist else served(top)
            return before(name, globals, locals, fromlist, level)

        find_before = self._find_before = importlib.import_module
        is_installed = {name: importlib.util.find_spec(name) is not None for name in SERVED}

        def import_module(name: str, package: str | None = None) -> Any:
            top = name.partition(".")[0]
            if top in SERVED and (not is_installed[top] or program.owns(sys._getframe(1).f_globals)):
                return served(name)
            return find_before(name, package)

        self._open.enter_context(importlib.import_module(f"{_OURS}.cupy").members())
        builtins.__import__ = __import__
        importlib.import_module = import_module
        return self

    def __exit__(self, *error: object) -> None:
        builtins.__import__ = self._before
        importlib.import_module = self._find_before
        self._open.close()


def served(name: str) -> Any:
    """Our module for a name of CuPy's.

    Raises
    ------
    ModuleNotFoundError
        If there is none.
    """
    top, *parts = name.split(".")
    module: Any = importlib.import_module(f"{_OURS}.{top}")
    for part in parts:
        try:
            module = getattr(module, part)
        except AttributeError as error:
            raise ModuleNotFoundError(f"No module named {name!r}: {error}", name=name) from None
    return module


__all__ = ["SERVED", "CupyServer", "served"]
