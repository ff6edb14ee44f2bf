"""``cupy.fft``: `numloom.fft`, and the settings that CuPy's programs ask for."""

from typing import Any

from numloom import fft as ours
from numloom.cupy.fft import config
from numloom.fft import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(ours, name)


def __dir__() -> list[str]:
    return sorted({*dir(ours), "config"})


__all__ = ["config"]
__all__ += ours.__all__
