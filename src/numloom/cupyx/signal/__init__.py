"""``cupyx.signal``: cepstra, filters, radar, and convolutions of higher order, over what numloom has."""

from numloom.cupyx.signal.cepstra import complex_cepstrum, inverse_complex_cepstrum, minimum_phase, real_cepstrum
from numloom.cupyx.signal.filters import (
    channelize_poly,
    convolve1d2o,
    convolve1d3o,
    firfilter,
    firfilter2,
    firfilter_zi,
    freq_shift,
)
from numloom.cupyx.signal.radar import ca_cfar, cfar_alpha, mvdr, pulse_compression, pulse_doppler

__all__ = [
    "ca_cfar", "cfar_alpha", "channelize_poly", "complex_cepstrum", "convolve1d2o", "convolve1d3o", "firfilter",
    "firfilter2", "firfilter_zi", "freq_shift", "inverse_complex_cepstrum", "minimum_phase", "mvdr",
    "pulse_compression", "pulse_doppler", "real_cepstrum",
]  # fmt: skip
