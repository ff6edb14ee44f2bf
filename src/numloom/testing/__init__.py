"""Helps for tests of array programs: NumPy's assertions, the same test under NumPy and numloom, kernels counted."""

from typing import Any

import numpy as np

from numloom.api.timing import Benchmark, benchmark
from numloom.base.tracebacks import publish
from numloom.base.wording import no_name
from numloom.testing.asserts import (
    assert_,
    assert_allclose,
    assert_almost_equal,
    assert_approx_equal,
    assert_array_almost_equal,
    assert_array_almost_equal_nulp,
    assert_array_compare,
    assert_array_equal,
    assert_array_less,
    assert_array_max_ulp,
    assert_equal,
    assert_no_warnings,
    assert_raises,
    assert_raises_regex,
    assert_string_equal,
    assert_warns,
)
from numloom.testing.compare import assert_bits_equal
from numloom.testing.kernels import KernelCount, assert_kernels, count_kernels
from numloom.testing.parity import for_all_dtypes, for_dtypes, matches_numpy

_NUMPYS = ("IgnoreException", "KnownFailureException", "SkipTest", "TestCase", "assert_no_gc_cycles", "break_cycles",
           "build_err_msg", "clear_and_catch_warnings", "measure", "print_assert_equal", "run_threaded",
           "suppress_warnings", "tempdir", "temppath")  # fmt: skip


def __getattr__(name: str) -> Any:
    """What takes no arrays is NumPy's own (whose module is slow to import, so nothing is taken before it is used)."""
    if name in _NUMPYS:
        return getattr(np.testing, name)
    raise AttributeError(no_name(__name__, name, _MISSING, __all__, "; if NumPy has it, use numpy.testing"))


_MISSING = {
    "assert_array_list_equal": "use assert_array_equal for each pair",
    "numpy_cupy_allclose": "use for_all_dtypes and matches_numpy",
    "numpy_cupy_array_equal": "use for_all_dtypes and matches_numpy",
    "test": "it runs NumPy's own tests: use pytest in numloom's repository",
}

__all__ = [
    "Benchmark",
    "KernelCount",
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_bits_equal",
    "assert_equal",
    "assert_kernels",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
    "benchmark",
    "count_kernels",
    "for_all_dtypes",
    "for_dtypes",
    "matches_numpy",
]


def __dir__() -> list[str]:
    return __all__


publish(globals(), __all__)
