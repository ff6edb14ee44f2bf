"""einops: a backend, so that ``einops.rearrange`` and the others take our arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from einops._backends import AbstractBackend

from numloom.api.creation import arange
from numloom.api.einsum import einsum
from numloom.api.joining import concatenate, stack
from numloom.api.manipulation import expand_dims, tile
from numloom.array.convert import asarray, asnumpy
from numloom.array.ndarray import ndarray

Array = Any


class NumloomEinopsBackend(AbstractBackend):  # type: ignore[misc]
    """What einops asks of arrays, by our functions; einops finds it among the subclasses."""

    framework_name = "numloom"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return type(tensor) is ndarray

    def from_numpy(self, x: Any) -> Array:
        return asarray(x)

    def to_numpy(self, x: Array) -> np.ndarray[Any, Any]:
        return asnumpy(x)

    def arange(self, start: int, stop: int) -> Array:
        return arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: list[Array]) -> Array:
        return stack(tensors)

    def tile(self, x: Array, repeats: tuple[int, ...]) -> Array:
        return tile(x, repeats)

    def concat(self, tensors: list[Array], axis: int) -> Array:
        return concatenate(tensors, axis)

    def add_axis(self, x: Array, new_position: int) -> Array:
        return expand_dims(x, new_position)

    def is_float_type(self, x: Array) -> bool:
        return x.dtype.kind == "f"

    def einsum(self, pattern: str, *x: Array) -> Array:
        return einsum(pattern, *x)


def register() -> None:
    """Nothing more: defining the class is enough."""
