"""Helps for tests of array programs: the same test under NumPy and numloom, kernels counted, arrays compared."""

from numloom.testing.compare import assert_allclose, assert_array_equal, assert_bits_equal
from numloom.testing.kernels import KernelCount, assert_kernels, count_kernels
from numloom.testing.parity import for_all_dtypes, for_dtypes, matches_numpy

__all__ = [
    "KernelCount",
    "assert_allclose",
    "assert_array_equal",
    "assert_bits_equal",
    "assert_kernels",
    "count_kernels",
    "for_all_dtypes",
    "for_dtypes",
    "matches_numpy",
]
