"""Classes of ``numpy.dtypes`` as dtypes, which NumPy's own functions pass to ufuncs."""

import numpy
import pytest

import numloom as np

CLASSES = [type(numpy.dtype(char)) for char in "?bBhHiIqQefdFD"]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_stands_for_its_dtype(kind) -> None:
    host = numpy.array([0, 1, 3])
    for of in (
        lambda m, x: m.zeros(2, dtype=kind),
        lambda m, x: x.astype(kind),
        lambda m, x: m.add(x, 1, dtype=kind, casting="unsafe"),
        lambda m, x: m.sum(x, dtype=kind),
    ):
        found, expected = of(np, np.asarray(host)), of(numpy, host)
        assert found.dtype == expected.dtype
        numpy.testing.assert_array_equal(np.asnumpy(found), expected)


def test_what_no_array_of_ours_holds_is_refused() -> None:
    for kind in (numpy.dtypes.ObjectDType, numpy.dtypes.StrDType, numpy.dtypes.DateTime64DType, numpy.dtype):
        with pytest.raises(TypeError):
            np.zeros(2, dtype=kind)
