"""Types for annotations, as `numpy.typing`: imported on demand, since the standard library's `typing` suffices us."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

import numpy as np
import numpy.typing as numpy_typing
from numpy.typing import DTypeLike

from numloom.array.ndarray import ndarray

Scalar = TypeVar("Scalar", bound=np.generic)

if TYPE_CHECKING:
    ArrayLike: TypeAlias = Any
    NDArray: TypeAlias = Any
else:
    ArrayLike = Union[ndarray, numpy_typing.ArrayLike]  # noqa: UP007 (NumPy's is no type of its own)
    """Anything that `numloom.asarray` takes."""
    NDArray = GenericAlias(ndarray, (Any, np.dtype[Scalar]))
    """Our array with a dtype: ``NDArray[numloom.float32]``."""

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]
