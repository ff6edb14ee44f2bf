"""No instance of a compiled class of ours exists without what it needs (see ``_type.seal``)."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES

from numloom.base.later import afterwards

try:
    from numloom.array._type import seal
except ImportError:
    seal = None


def seal_classes() -> None:
    """Seal the compiled classes of all modules of the package that are imported."""
    if seal is None:
        return
    package = __name__.partition(".")[0] + "."
    for name, module in list(sys.modules.items()):
        if name.startswith(package) and str(getattr(module, "__file__", "")).endswith(tuple(EXTENSION_SUFFIXES)):
            for member in vars(module).values():
                if isinstance(member, type) and member.__module__ == name:
                    seal(member)


afterwards(seal_classes)
