"""``%load_ext numloom``: in IPython and Jupyter, cells get numpy served by numloom from then on."""

from __future__ import annotations

import os
import sys
from typing import Any

from numloom.command.serve.namespace import Namespace, Server
from numloom.command.serve.program import ServedProgram

_MAGIC = "numloom"
_servers: dict[int, Server] = {}


def load(ipython: Any) -> None:
    """Serve numpy to the cells of this shell, as ``%load_ext numloom`` asks.

    Names that are bound to NumPy's modules already (``np``) are bound to ours; arrays that are there stay as they are.
    Modules in the working folder belong to the program, installed libraries keep NumPy. ``%numloom`` prints what ran
    where since then, ``%numloom json`` as JSON.

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

    ipython.register_magic_function(report, "line", _MAGIC)


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
    for name, value in list(ipython.user_ns.items()):
        if isinstance(value, Namespace):
            ipython.user_ns[name] = sys.modules.get(value.__name__, value)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, type(os)) and value.__name__.partition(".")[0] == "numpy"
