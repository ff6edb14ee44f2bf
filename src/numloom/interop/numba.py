"""Numba: functions that it compiled take our arrays as NumPy's over the same memory (on a GPU: a copy of it).

Numba reads NumPy's arrays in C; ours become such before it does. What a function gives is NumPy's.
"""

from __future__ import annotations

from typing import Any

from numloom.array import scalars
from numloom.array.ndarray import ndarray


def register() -> None:
    """Tell Numba, when it has been imported."""
    from numba.core import types
    from numba.core.datamodel import models, register_default
    from numba.extending import NativeValue, typeof_impl, unbox

    class OurArray(types.Array):  # type: ignore[misc]
        """NumPy's array for all that is compiled; only its arguments are unpacked in another way."""

        def __init__(self, dtype: Any, ndim: int, layout: str, readonly: bool) -> None:
            super().__init__(
                dtype, ndim, layout, readonly=readonly, name=f"numloom({dtype}, {ndim}, {layout}, {readonly})"
            )

    register_default(OurArray)(models.ArrayModel)

    def type_of(value: Any, context: Any) -> Any:
        if value.is_scalar:
            return typeof_impl(value.get()[()], context)
        host = typeof_impl(value.to_numpy(), context)
        return OurArray(host.dtype, host.ndim, host.layout, not host.mutable)

    typeof_impl.register(ndarray)(type_of)
    for kind in (scalars.IntegerScalar, scalars.RealScalar, scalars.ComplexScalar):
        typeof_impl.register(kind)(type_of)

    @unbox(OurArray)  # type: ignore[untyped-decorator, no-untyped-call, misc]
    def unbox_ours(kind: Any, value: Any, c: Any) -> Any:
        share = c.pyapi.object_getattr_string(value, "to_numpy")
        host = c.pyapi.call_function_objargs(share, ())
        c.pyapi.decref(share)
        plain = types.Array(kind.dtype, kind.ndim, kind.layout, readonly=not kind.mutable)
        native = c.unbox(plain, host)
        return NativeValue(native.value, is_error=native.is_error, cleanup=lambda: c.pyapi.decref(host))  # type: ignore[no-untyped-call]


__all__ = ["register"]
