"""No instance of a compiled class of ours exists without what it needs (see ``_type.seal``)."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES

from numloom.base.later import afterwards

try:
    from numloom.array._type import seal
except ImportError:
    seal = None


_PACKAGE = __name__.partition(".")[0] + "."
_SUFFIXES = tuple(EXTENSION_SUFFIXES)
_seen: set[str] = set()


def seal_classes() -> None:
    """Seal the compiled classes of the package's modules that were imported since it was called last."""
    if seal is None:
        return
    for name, module in list(sys.modules.items()):  # Other threads import meanwhile.
        if not name.startswith(_PACKAGE) or name in _seen:
            continue
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue  # Another thread imports it, and will call this.
        _seen.add(name)
        if str(getattr(module, "__file__", "")).endswith(_SUFFIXES):
            for member in list(vars(module).values()):
                if isinstance(member, type) and member.__module__ == name:
                    seal(member)


afterwards(seal_classes)
