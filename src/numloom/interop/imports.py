"""Doing something right after another library's import, without importing it."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType


class _Watcher:
    """A finder that finds nothing itself: it lets the real one find a module and adds a step to its loading."""

    def __init__(self, registrations: Mapping[str, str]) -> None:
        self.registrations = dict(registrations)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        ours = self.registrations.get(name)
        if ours is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                break
        else:
            return None
        loader = spec.loader
        if loader is not None and hasattr(loader, "exec_module"):
            load = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                if module.__name__ == name:  # Some loaders (pytest's) load all modules.
                    register(ours)

            loader.exec_module = exec_module  # type: ignore[method-assign]  # the instance's, not the class's
        return spec


def watch(registrations: Mapping[str, str]) -> None:
    """Run ``register()`` of our modules when the libraries that they are named for are imported, or now if they are.

    Parameters
    ----------
    registrations : mapping of str to str
        A library's module, and ours.
    """
    later = {}
    for name, ours in registrations.items():
        module = sys.modules.get(name)
        if module is None:
            later[name] = ours
        elif not getattr(module.__spec__, "_initializing", False):
            register(ours)
        # Else the library is importing us, by an entry point that is told itself.
    sys.meta_path.insert(0, _Watcher(later))  # type: ignore[arg-type]


def register(ours: str) -> None:
    """Tell a library of our arrays; a library that has changed since still works without us."""
    try:
        importlib.import_module(ours).register()
    except Exception as error:
        warnings.warn(f"{ours}: telling the library of numloom's arrays failed: {error!r}", RuntimeWarning, 2)


__all__ = ["register", "watch"]
