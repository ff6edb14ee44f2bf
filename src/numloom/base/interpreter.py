"""What numloom asks of the interpreter."""

from __future__ import annotations

import sys


def require_gil() -> None:
    """Refuse a Python that runs without its lock, on which values that threads share rely.

    A free-threaded build takes its lock up again, with a warning of its own, when the compiled core is imported; it
    does not where it was told so (``PYTHON_GIL=0``, ``-X gil=0``), or where the package was built without its core.

    Raises
    ------
    ImportError
        If the lock is off.
    """
    enabled = getattr(sys, "_is_gil_enabled", None)
    if enabled is not None and not enabled():
        raise ImportError(
            "numloom needs Python's global interpreter lock, and this free-threaded Python runs without it: start "
            "Python with PYTHON_GIL=1 (or -X gil=1), or use a build of Python that has the lock"
        )
