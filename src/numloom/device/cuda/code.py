"""Machine code that the driver has loaded, and when it is unloaded.

A module stays loaded as long as somebody has its `LoadedCode`, as whoever may launch a function of it has. What was
launched may still run when the last of them lets go of it, so modules are unloaded together, after all that the GPU was
given is done; that is waited for once in some hundred new kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.base.errors import DeviceError
from numloom.base.lasting import Rest, settled, token
from numloom.device.cuda import driver

TOGETHER = 128
"""Modules that nobody has from which on the GPU is waited for, and they are unloaded."""


class LoadedCode:
    """A module of the driver.

    Parameters
    ----------
    code : bytes
        A CUBIN, or what else the driver loads.
    idle : list
        Where its handle goes when nobody has this object any more (in the middle of anything, in a forked child and at
        the end of the process, too, so the driver is asked for nothing there); `unload` does the rest.
    doing : str
        What to say where the driver refuses.

    Attributes
    ----------
    handle : object
        By which the driver knows it.
    """

    __slots__ = ("__weakref__", "_token", "handle")

    def __init__(self, code: bytes, idle: list[Rest], doing: str) -> None:
        self.handle: Any = driver.call("cuModuleLoadData", code, doing=doing)
        self._token = token(self.handle, idle)


def unload(idle: list[Rest], enter: Callable[[], Any]) -> None:
    """Unload modules that nobody has, if they are many; to be called where no work is being captured.

    `enter` makes their GPU's context current in this thread.
    """
    if len(idle) < TOGETHER:
        return
    # Whatever comes to the list from now on may have been launched after what is waited for.
    rests: list[Rest] = []
    try:
        for _ in range(len(idle)):
            rests.append(idle.pop())
    except IndexError:  # Another thread took some.
        pass
    try:
        enter()
        driver.call("cuCtxSynchronize", doing="running earlier work")
        while rests:
            driver.call("cuModuleUnload", rests[-1].what, doing="unloading a module")
            settled(rests.pop())
    except DeviceError:  # Of earlier work, above all: whoever looks at that is told.
        idle.extend(rests)


__all__ = ["LoadedCode", "unload"]
