"""Which tones sound when: a spectrogram.

A signal is cut into frames that overlap by three quarters, each is weighted by a window of Hann and transformed.
The signal here is a rising chirp, a tone that comes and goes, and noise.

**What fuses.** Frames are a view of the signal (`sliding_window_view`), so nothing is copied: cutting and weighting
are one kernel that writes what the Fourier transform reads. Squares, logarithm and scaling after it are another
one.
"""

import numpy

FULL = {"seconds": 60}
SMALL = {"seconds": 1}


def inputs(seconds):
    rate = 16000
    t = numpy.arange(rate * seconds) / rate
    chirp = numpy.sin(2 * numpy.pi * (300 * t + 2500 * t**2 / seconds))
    tone = numpy.sin(2 * numpy.pi * 4000 * t) * (numpy.sin(2 * numpy.pi * 6 * t / seconds) > 0)
    noise = numpy.random.default_rng(0).normal(0, 0.3, t.size)
    return {"signal": (chirp + 0.5 * tone + noise).astype(numpy.float32), "rate": rate}


def compute(np, signal, rate):
    width = 1024
    frames = np.lib.stride_tricks.sliding_window_view(signal, width)[:: width // 4]
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)).astype(np.float32)
    spectrum = np.fft.rfft(frames * window, axis=1)
    power = 10 * np.log10(spectrum.real**2 + spectrum.imag**2 + 1e-3)
    loudest = np.argmax(power, axis=1) * (rate / width)
    return {"power": power, "loudest": loudest}


TOLERANCE = 2e-3


def picture(figure, given, found):
    top, bottom = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 1]})
    seconds = given["signal"].size / given["rate"]
    top.imshow(found["power"].T[::-1], aspect="auto", extent=(0, seconds, 0, given["rate"] / 2), vmin=-20)
    top.set_ylabel("Hz")
    bottom.plot(numpy.linspace(0, seconds, found["loudest"].size), found["loudest"], ",")
    bottom.set_ylabel("loudest")
