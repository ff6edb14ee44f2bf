"""``cupyx.scipy.spatial``: see `numloom.cupyx.scipy.table`."""

from numloom.cupyx.scipy.lookup import members, public
from numloom.cupyx.scipy.spatial import distance

__getattr__ = members(__name__)
__all__ = [*public("spatial"), "distance"]


def __dir__() -> list[str]:
    return __all__
