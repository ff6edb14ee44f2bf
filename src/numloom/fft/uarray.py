"""SciPy's hook: what runs the functions of `scipy.fft` on our arrays.

``scipy.fft.set_backend(numloom.fft.scipy_backend)`` chooses it; arrays that are not ours stay SciPy's unless the
backend is chosen with ``coerce=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.api.elementwise import conjugate
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import C64, C128, F32, F64
from numloom.base.integers import as_integer, as_integers, is_single
from numloom.engine.routines import call as call_routine
from numloom.fft import transforms
from numloom.graph import build
from numloom.ops.fourier import trigonometric

Array = Any


def _prepared(x: Any) -> Array:
    """The argument; half precision is single for SciPy."""
    array = asarray(x)
    return array.astype("f4") if array.dtype.char == "e" else array


def _axes(array: Array, s: Any, axes: Any) -> tuple[Any, Any]:
    """Lengths and axes as in SciPy: lengths alone belong to the last axes, an axis comes once; -1 keeps its length."""
    if s is not None:
        s = _whole([s] if is_single(s) else list(s))
        if axes is None and len(s) > array.ndim:
            raise ValueError(f"shape requires more axes than are present: {len(s)} lengths for {array.ndim} axes")
    if axes is None:
        axes = list(range(array.ndim)) if s is None else list(range(array.ndim - len(s), array.ndim))
    axes = list(as_integers(axes, as_integer))
    if any(not -array.ndim <= axis < array.ndim for axis in axes):
        raise ValueError("axes exceeds dimensionality of input")
    if len({axis % array.ndim for axis in axes}) != len(axes):
        raise ValueError("all axes must be unique")
    if s is not None and len(s) == len(axes):
        s = [array.shape[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]
    return s, axes


def _whole(lengths: list[Any]) -> list[int]:
    try:
        return list(as_integers(lengths, as_integer))
    except TypeError:
        raise ValueError(f"shape must be a scalar or iterable of integers, got {lengths}") from None


def _one(name: str) -> Callable[..., Array]:
    function = getattr(transforms, name)

    def transform(
        x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Any = None,
    ) -> Array:  # fmt: skip
        return function(_prepared(x), n, axis, norm)

    return transform


def _several(name: str, axes: Any = None) -> Callable[..., Array]:
    function = getattr(transforms, name)

    def transform(
        x: Any, s: Any = None, axes: Any = axes, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Any = None,
    ) -> Array:  # fmt: skip
        array = _prepared(x)
        return function(array, *_axes(array, s, axes), norm)

    return transform


def _hermitian(inverse: bool, axes: Any = None) -> Callable[..., Array]:
    """`hfftn` and `ihfftn`, which only SciPy has: the transforms of real numbers of the other sign and scale."""

    def transform(
        x: Any, s: Any = None, axes: Any = axes, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Any = None,
    ) -> Array:  # fmt: skip
        array = _prepared(x)
        s, axes = _axes(array, s, axes)
        norm = transforms.swapped(norm)
        if inverse:
            return conjugate(transforms.rfftn(array, s, axes, norm))
        return transforms.irfftn(conjugate(array), s, axes, norm)

    return transform


def _real(name: str, several: bool) -> Callable[..., Array]:
    """A cosine or sine transform."""

    def run(x: Any, type: int, s: Any, axes: Any, norm: Any, orthogonalize: Any) -> Array:
        array = _prepared(x)
        if several:
            s, axes = _axes(array, s, axes)
        else:  # There -1 is no length.
            _, axes = _axes(array, None, axes)
        if s is not None:
            transforms.check_lengths(s, norm)
            array = transforms.fitted(array, {axis % array.ndim: n for axis, n in zip(axes, s, strict=True)})
        codes = (C64, C128) if array.dtype.kind == "c" else (F32, F64)
        node = build.cast(node_of(array), codes[array.dtype.char not in "fF"])
        return wrap(
            call_routine(
                trigonometric.__name__, node, code=node.code, shape=node.shape,
                transform=name, type=type, axes=tuple(axes), norm=norm, orthogonalize=orthogonalize,
            )
        )  # fmt: skip

    if several:

        def transform_several(
            x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
            workers: Any = None, *, orthogonalize: Any = None,
        ) -> Array:  # fmt: skip
            return run(x, type, s, axes, norm, orthogonalize)

        return transform_several

    def transform(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, orthogonalize: Any = None,
    ) -> Array:  # fmt: skip
        return run(x, type, None if n is None else [n], [axis], norm, orthogonalize)

    return transform


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    **{name: _one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: _several(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _several(f"{name[:-1]}n", (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    "hfftn": _hermitian(False),
    "ihfftn": _hermitian(True),
    "hfft2": _hermitian(False, (-2, -1)),
    "ihfft2": _hermitian(True, (-2, -1)),
    **{name: _real(f"{name}n", several=False) for name in ("dct", "idct", "dst", "idst")},
    **{name: _real(name, several=True) for name in ("dctn", "idctn", "dstn", "idstn")},
}


class ScipyBackend:
    """A uarray backend for `scipy.fft`; `scipy_backend` is the one that there is."""

    __ua_domain__ = "numpy.scipy.fft"

    def __ua_convert__(self, dispatchables: Sequence[Any], coerce: bool) -> Any:
        values = []
        for one in dispatchables:
            if type(one.value) is not ndarray and not (coerce and one.coercible):
                return NotImplemented
            values.append(asarray(one.value))
        return values

    def __ua_function__(self, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        function = _FUNCTIONS.get(method.__name__)
        return NotImplemented if function is None else function(*args, **options)

    def __repr__(self) -> str:
        return "numloom.fft.scipy_backend"


scipy_backend = ScipyBackend()

__all__ = ["ScipyBackend", "scipy_backend"]
