"""Arguments that CuPy's ``cupyx.scipy`` takes and SciPy does not, or that SciPy takes and gives a wrong number for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.integers import is_integer
from numloom.cupyx.scipy.host import to_host

Given = dict[str, Any]
"""Arguments by their names; those that were not given are not there."""


def _structure_of_shape(given: Given) -> Given:
    """A structure may be told by its shape: an integer, or as many of them in a tuple as there are axes."""
    axes = given.get("axes")
    count = np.ndim(given["input"]) if axes is None else np.size(axes)
    shapes = {name: _shape(given.get(name), count) for name in ("structure", "structure1", "structure2")}
    return {name: np.ones(shape, bool) for name, shape in shapes.items() if shape is not None}


def _shape(value: Any, count: int) -> tuple[int, ...] | None:
    if isinstance(value, tuple):
        return value if len(value) == count and all(is_integer(each) for each in value) else None
    return (int(value),) * count if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def _finite_beyond_the_edge(given: Given) -> Given:
    """No integer is infinite or NaN; SciPy's result would be any number."""
    output, cval = given.get("output"), to_host(given.get("cval", 0.0))
    kind = asarray(given["input"]).dtype.kind if output is None else _dtype(output).kind
    mode = given.get("mode", "constant")
    if kind in "iu" and mode in ("constant", "grid-constant") and not np.isfinite(cval):
        raise NotImplementedError(f"integers cannot hold cval={cval!r}: pass output=float, or another mode")
    return {}


def _dtype(output: Any) -> np.dtype[Any]:
    return output.dtype if isinstance(output, (ndarray, np.ndarray)) else np.dtype(output)


def _texture(given: Given) -> Given:
    """What CuPy's textures cannot hold is refused, as programs that ask for them expect."""
    _finite_beyond_the_edge(given)
    image = asarray(given["input"])
    if given.get("texture_memory") and (image.ndim not in (2, 3) or image.dtype != np.float32):
        raise ValueError(
            f"texture_memory=True takes float32 images of 2 or 3 axes, got {image.dtype.name} of {image.ndim}: leave "
            "it out, which computes the same"
        )
    return {}


ADAPTED: dict[str, Callable[[Given], Given]] = {
    **dict.fromkeys(
        [
            f"ndimage.binary_{name}"
            for name in ("erosion", "dilation", "opening", "closing", "propagation", "fill_holes", "hit_or_miss")
        ],
        _structure_of_shape,
    ),
    **dict.fromkeys(
        [f"ndimage.{name}" for name in ("shift", "zoom", "rotate", "map_coordinates")], _finite_beyond_the_edge
    ),
    "ndimage.affine_transform": _texture,
}
"""What changes or refuses arguments of SciPy's functions, by module and name."""

__all__ = ["ADAPTED", "Given"]
