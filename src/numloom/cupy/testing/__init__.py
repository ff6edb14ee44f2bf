"""``cupy.testing``: numloom's and NumPy's assertions, and decorators that run a test under NumPy and numloom."""

from __future__ import annotations

from typing import Any

from numloom import testing as ours
from numloom.cupy.testing.aliases import (
    AssertFunctionIsCalled,
    NumpyAliasBasicTestBase,
    NumpyAliasTestBase,
    NumpyAliasValuesTestBase,
)
from numloom.cupy.testing.arrays import (
    generate_matrix,
    shaped_arange,
    shaped_linspace,
    shaped_random,
    shaped_reverse_arange,
    shaped_sparse_random,
)
from numloom.cupy.testing.comparing import (
    assert_array_equal,
    assert_array_list_equal,
    assert_warns,
    numpy_cupy_allclose,
    numpy_cupy_array_almost_equal,
    numpy_cupy_array_almost_equal_nulp,
    numpy_cupy_array_equal,
    numpy_cupy_array_less,
    numpy_cupy_array_list_equal,
    numpy_cupy_array_max_ulp,
    numpy_cupy_equal,
    numpy_cupy_raises,
)
from numloom.cupy.testing.conditions import (
    fix_random,
    generate_seed,
    installed,
    multi_gpu,
    numpy_satisfies,
    parameterize,
    product,
    product_dict,
    slow,
    with_requires,
)
from numloom.cupy.testing.loops import (
    for_all_dtypes,
    for_all_dtypes_combination,
    for_CF_orders,
    for_complex_dtypes,
    for_contiguous_axes,
    for_dtypes,
    for_dtypes_combination,
    for_float_dtypes,
    for_int_dtypes,
    for_int_dtypes_combination,
    for_orders,
    for_signed_dtypes,
    for_signed_dtypes_combination,
    for_unsigned_dtypes,
    for_unsigned_dtypes_combination,
)


def __getattr__(name: str) -> Any:
    return getattr(ours, name)


__all__ = [
    "AssertFunctionIsCalled", "NumpyAliasBasicTestBase", "NumpyAliasTestBase", "NumpyAliasValuesTestBase",
    "assert_array_equal", "assert_array_list_equal", "assert_warns", "fix_random", "for_CF_orders", "for_all_dtypes",
    "for_all_dtypes_combination", "for_complex_dtypes", "for_contiguous_axes", "for_dtypes", "for_dtypes_combination",
    "for_float_dtypes", "for_int_dtypes", "for_int_dtypes_combination", "for_orders", "for_signed_dtypes",
    "for_signed_dtypes_combination", "for_unsigned_dtypes", "for_unsigned_dtypes_combination", "generate_matrix",
    "generate_seed", "installed", "multi_gpu", "numpy_cupy_allclose", "numpy_cupy_array_almost_equal",
    "numpy_cupy_array_almost_equal_nulp", "numpy_cupy_array_equal", "numpy_cupy_array_less",
    "numpy_cupy_array_list_equal", "numpy_cupy_array_max_ulp", "numpy_cupy_equal", "numpy_cupy_raises",
    "numpy_satisfies", "parameterize", "product", "product_dict", "shaped_arange", "shaped_linspace", "shaped_random",
    "shaped_reverse_arange", "shaped_sparse_random", "slow", "with_requires",
]  # fmt: skip
