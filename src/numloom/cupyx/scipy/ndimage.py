"""``cupyx.scipy.ndimage``: see `numloom.cupyx.scipy.table`."""

from numloom.cupyx.scipy.lookup import members, public

__getattr__ = members(__name__)
__all__ = public("ndimage")


def __dir__() -> list[str]:
    return __all__
