"""Which modules are the program's, so that ``import numpy`` gives them numloom; all others keep NumPy."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))) + os.sep
_STANDARD = os.path.realpath(os.path.dirname(os.__file__)) + os.sep
"""Folder of the standard library (`sysconfig`, which knows it too, takes 4 ms)."""
_SITES = frozenset(("site-packages", "dist-packages"))
"""Names of folders of installed libraries."""


class ServedProgram:
    """The modules that belong to the program: ``__main__``, what lies in its folders, and packages named by the user.

    Parameters
    ----------
    folders : sequence of str
        Modules in them (and below) belong to the program, unless they are installed libraries.
    also, keep : sequence of str
        Packages that belong to it wherever they lie; packages that keep NumPy wherever they lie.
    """

    def __init__(self, folders: tuple[str, ...] = (), also: tuple[str, ...] = (), keep: tuple[str, ...] = ()) -> None:
        self.folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        self.also = frozenset(also)
        self.keep = frozenset(keep)
        self._known: dict[tuple[str, str], bool] = {}

    def owns(self, namespace: Mapping[str, Any]) -> bool:
        """Whether the module with this namespace (its globals) belongs to the program."""
        name, file = namespace.get("__name__") or "", namespace.get("__file__") or ""
        try:
            return self._known[name, file]
        except (KeyError, TypeError):
            known = self._known[str(name), str(file)] = self._owns(str(name), str(file))
            return known

    def _owns(self, name: str, file: str) -> bool:
        path = os.path.realpath(file) if file else ""
        top = name.partition(".")[0]
        if path.startswith(_PACKAGE) or top in self.keep:
            return False
        if name == "__main__" or top in self.also:
            return True
        if not path or not path.startswith(self.folders):
            return False
        return not path.startswith(_STANDARD) and not _SITES.intersection(path.split(os.sep))

    def caller(self) -> tuple[FrameType | None, FrameType | None]:
        """The innermost frame of a module that is not numloom's, and the innermost one of the program."""
        frame: FrameType | None = sys._getframe(1)
        first = None
        while frame is not None:
            if self.owns(frame.f_globals):
                return first or frame, frame
            if first is None and not is_ours(frame.f_code.co_filename):
                first = frame
            frame = frame.f_back
        return first, None

    def line(self) -> str:
        """The program's line that is being executed, as ``file:line``."""
        frame = self.caller()[1]
        return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def is_calling(self) -> bool:
        """Whether the program, and no library, called numloom (at the innermost)."""
        first, own = self.caller()
        return own is not None and first is own


def is_ours(file: str) -> bool:
    """Whether this is a source file of numloom."""
    return file.startswith(_PACKAGE)


class Interception:
    """While it is active, ``import numpy`` and its submodules in the program's modules give what `serve` gives.

    Parameters
    ----------
    program : ServedProgram
        Whose imports are meant.
    serve : callable
        The module to give, by NumPy's name of it.
    meet : callable
        Is told the name of every library that the program imports.
    made : callable
        Is given every class of the program, when that is made.

    Notes
    -----
    `builtins.__import__` stands behind every ``import`` statement, and is told the namespace of the module that
    imports. `importlib.import_module` does not pass here: it gives NumPy itself to everybody. In the same way
    `builtins.__build_class__` stands behind every ``class`` statement.
    """

    def __init__(
        self,
        program: ServedProgram,
        serve: Callable[[str], ModuleType],
        meet: Callable[[str], None],
        made: Callable[[Any], None],
    ) -> None:
        self.program = program
        self.serve = serve
        self.meet = meet
        self.made = made
        self._before: Any = None
        self._build: Any = None

    def __enter__(self) -> Interception:
        before = self._before = builtins.__import__
        build = self._build = builtins.__build_class__
        made = self.made
        program, serve, meet = self.program, self.serve, self.meet

        def __import__(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Any = (),
            level: int = 0,
        ) -> ModuleType:
            module = before(name, globals, locals, fromlist, level)
            if level == 0 and globals is not None and program.owns(globals):
                top = name.partition(".")[0]
                if top == "numpy":
                    # `import numpy.linalg` binds the first name, `from numpy.linalg import norm` asks the last one.
                    return serve(name if fromlist else "numpy")
                meet(top)
            return module

        def __build_class__(body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
            kind = build(body, name, *bases, **options)
            if program.owns(body.__globals__):
                made(kind)
            return kind

        builtins.__import__ = __import__
        builtins.__build_class__ = __build_class__
        return self

    def __exit__(self, *error: object) -> None:
        builtins.__import__, builtins.__build_class__ = self._before, self._build
