"""``run --cupy``: ``import cupy`` and ``import cupyx`` in the program give numloom's modules of these names."""

from __future__ import annotations

import builtins
import importlib
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
    """

    def __init__(self, program: ServedProgram) -> None:
        self.program = program
        self._open = ExitStack()
        self._before: Any = None

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

        self._open.enter_context(importlib.import_module(f"{_OURS}.cupy").members())
        builtins.__import__ = __import__
        return self

    def __exit__(self, *error: object) -> None:
        builtins.__import__ = self._before
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
