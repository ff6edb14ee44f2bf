"""``cupyx.scipy.stats``: see `numloom.cupyx.scipy.table`."""

from numloom.cupyx.scipy.lookup import members, public

__getattr__ = members(__name__)
__all__ = public("stats")


def __dir__() -> list[str]:
    return __all__
