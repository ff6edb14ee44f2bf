"""An array on the device, with NumPy's meaning and methods.

Make one with `numloom.asarray`, `zeros`, `arange` and their like. The call ``ndarray(shape, dtype=float, buffer=None,
offset=0, strides=None, order=None)`` gives undefined values, or a view of the memory of `buffer`.

Operations are lazy: ``x + 1`` records what to do and returns at once. Recorded work runs, many operations in one
kernel, when a value is looked at: by ``print(x)``, ``float(x)``, ``if x:``, ``x.get()``. To wait for it without
looking, call `numloom.synchronize`. Shapes and dtypes are known at once, and so are most errors.

Attributes
----------
shape : tuple of int
    Number of elements along each axis.
dtype : numpy.dtype
    Type of the elements: bool, integers, floats from float8 to float64, complex64 or complex128.
device : str
    Where the array lives, such as "cpu" or "cuda:0".
ndim, size, nbytes : int
    Number of axes, of elements, and of bytes of all elements.
itemsize, strides : int, tuple of int
    Bytes of one element, and from one element to the next along each axis.
T, mT, real, imag, flat, base, flags
    As in NumPy.

Notes
-----
``x.get()`` gives a NumPy array with the values, and `numloom.asnumpy` too; ``x.item()`` gives a Python number.
``x.explain()`` shows what is recorded for `x` and the kernels that would run. To time recorded work, use
`numloom.testing.benchmark`: ``%timeit x + 1`` would time the recording alone.

Slices are views of the same memory, as in NumPy. A result without axes (``x.sum()``, ``x[0]``) is an array, too.

Examples
--------
>>> import numloom as np
>>> x = np.arange(6.0).reshape(2, 3)
>>> y = np.sqrt(x) + 1           # recorded; nothing has run
>>> y.shape, y.dtype
((2, 3), dtype('float64'))
>>> y.sum(axis=0).get()          # runs, and gives a NumPy array
array([3.73205081, 5.        , 5.65028154])
"""

from __future__ import annotations

from typing import Any

from numloom.array.ndarray import bind

_INTERNAL = frozenset(
    ("storage", "code", "era", "_shape", "held", "is_scalar", "number", "offset", "_strides", "writeable")
)
_OF_NUMBERS = frozenset(("as_integer_ratio", "denominator", "is_integer", "numerator"))


def public_names(array: Any) -> list[str]:
    """What ``dir`` of an array shows: no attributes that only the package uses, and of numbers' only what it has."""
    hidden = _INTERNAL | {name for name in _OF_NUMBERS if not hasattr(array, name)}
    return [name for name in dir(type(array)) if name not in hidden]


bind(method___dir__=public_names)

__all__ = ["public_names"]
