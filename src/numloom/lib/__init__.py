"""NumPy's `lib`: what is public there and makes sense for arrays on a device."""

from numpy.lib import NumpyVersion, add_docstring, add_newdoc, mixins

from numloom.lib import array_utils, format, scimath, stride_tricks

__all__ = ["NumpyVersion", "add_docstring", "add_newdoc", "array_utils", "format", "mixins", "scimath", "stride_tricks"]


def __dir__() -> list[str]:
    return __all__
