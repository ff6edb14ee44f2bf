"""What IPython calls for ``%load_ext numloom``; the machinery behind it is imported then."""

from __future__ import annotations

import importlib
from typing import Any

_NOTEBOOK = "numloom.command.notebook"


def load_ipython_extension(ipython: Any) -> None:
    """Serve numpy to the cells of an IPython shell, as ``%load_ext numloom`` asks: `numloom.command.notebook.load`."""
    importlib.import_module(_NOTEBOOK).load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Give the cells NumPy again, as ``%unload_ext numloom`` asks."""
    importlib.import_module(_NOTEBOOK).unload(ipython)
