"""``cupyx.scipy.signal``: see `numloom.cupyx.scipy.table`."""

from numloom.cupyx.scipy.lookup import members, public
from numloom.cupyx.scipy.signal import windows

__getattr__ = members(__name__)
__all__ = [*public("signal"), "windows"]


def __dir__() -> list[str]:
    return __all__
