"""``cupyx.scipy.spatial.distance``: see `numloom.cupyx.scipy.table`."""

from numloom.cupyx.scipy.lookup import members, public

__getattr__ = members(__name__)
__all__ = public("spatial.distance")


def __dir__() -> list[str]:
    return __all__
