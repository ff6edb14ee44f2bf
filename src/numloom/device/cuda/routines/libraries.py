"""Libraries of the CUDA toolkit: loaded at their first use, and done without where they are not installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from numloom.base.forking import importing
from numloom.device.cuda.routines.recording import ScriptRecorder


def library(device: Any, attribute: str, bindings: str, make: Callable[[Any], Any]) -> Any:
    """What a device keeps for a library, made at its first use.

    Parameters
    ----------
    device : CudaDevice
        What keeps it.
    attribute : str
        Under which name.
    bindings : str
        The library's module in `nvmath.bindings`.
    make : callable
        Makes it of that module; must call the library, since only then it is loaded.

    Returns
    -------
    object
        None if the bindings or the library are not installed.
    """
    if type(device) is ScriptRecorder:
        device = device.device
    if not hasattr(device, attribute):
        made = None
        try:
            with importing:
                module = importlib.import_module(f"nvmath.bindings.{bindings}")
            made = make(module)
        except ImportError:
            pass
        except Exception as error:  # The bindings' own kinds, where the library is missing.
            if "ound" not in str(error) and "load" not in str(error):
                raise
        setattr(device, attribute, made)
    return getattr(device, attribute)


__all__ = ["library"]
