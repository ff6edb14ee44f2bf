"""``cupyx.scipy.fft`` as a backend of ``scipy.fft``."""

import numpy as np
import scipy.fft

import numloom as nl
from numloom.cupyx.scipy import fft


def test_scipy_asks_ours() -> None:
    x = np.random.default_rng(2).random((3, 8))
    with scipy.fft.set_backend(fft):
        found = [scipy.fft.fft(nl.asarray(x)), scipy.fft.dctn(nl.asarray(x), 2, norm="ortho", axes=(1,))]
    assert all(isinstance(each, nl.ndarray) for each in found)
    np.testing.assert_allclose(nl.asnumpy(found[0]), scipy.fft.fft(x))
    np.testing.assert_allclose(nl.asnumpy(found[1]), scipy.fft.dctn(x, 2, norm="ortho", axes=(1,)))
