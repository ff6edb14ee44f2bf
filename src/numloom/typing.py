"""Types for annotations, as `numpy.typing`: imported on demand, since the standard library's `typing` suffices us.

``ndarray[Shape, DType]`` is for checkers, as in NumPy: ``np.ndarray[tuple[int, int], np.dtype[np.float64]]``. Nothing
checks it when a program runs.
"""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, Union

import numpy as np
import numpy.typing as numpy_typing
from numpy.typing import DTypeLike

from numloom.array.ndarray import ndarray

Scalar = TypeVar("Scalar", bound=np.generic)
Shape = TypeVar("Shape", bound=tuple[int, ...], covariant=True)
DType = TypeVar("DType", bound=np.dtype[Any], covariant=True)

if TYPE_CHECKING:

    class Array(ndarray, Generic[Shape, DType]):
        """What checkers take `numloom.ndarray` for: the class, with its shape's and its dtype's types."""

        def __getattr__(self, name: str) -> Any:
            """Methods that modules above give the class."""

    ArrayLike: TypeAlias = Any
    NDArray: TypeAlias = Array[tuple[Any, ...], np.dtype[Scalar]]
else:
    Array = ndarray
    ArrayLike = Union[ndarray, numpy_typing.ArrayLike]  # noqa: UP007 (NumPy's is no type of its own)
    """Anything that `numloom.asarray` takes."""
    NDArray = GenericAlias(ndarray, (Any, np.dtype[Scalar]))
    """Our array with a dtype: ``NDArray[numloom.float32]``."""

__all__ = ["Array", "ArrayLike", "DTypeLike", "NDArray"]
