"""The Fourier transform as a routine: one definition for all of them, with its twin by SciPy's pocketfft."""

from __future__ import annotations

from typing import Any

from numloom.base.config import config
from numloom.base.later import load
from numloom.ops.routines import Host, routine


@routine()
def fourier(a: Host, *, kind: str, axes: tuple[int, ...], n: int, forward: bool, norm: str) -> Host:
    """Discrete Fourier transforms along distinct `axes`, in the precision of `a`.

    `kind` is "c2c" (of a real or complex array, `forward` or back), "r2c" (real to the half of the spectrum along
    ``axes[-1]`` that determines the rest) or "c2r" (from such a half to `n` real numbers along ``axes[-1]``, which
    comes last). `norm` is NumPy's: "backward", "ortho" or "forward".
    """
    fft = load("scipy.fft")
    options: dict[str, Any] = {"axes": axes, "norm": norm, "workers": config.num_threads or -1}
    # The backend that a user has chosen for SciPy's functions may be ours.
    with fft.set_backend("scipy", only=True):
        if kind == "c2r":
            return fft.irfftn(a, [*(a.shape[axis] for axis in axes[:-1]), n], **options)  # type: ignore[no-any-return]
        transform = fft.rfftn if kind == "r2c" else fft.fftn if forward else fft.ifftn
        result: Host = transform(a, **options)
    if kind == "c2c" and a.dtype.kind == "f":
        # SciPy mirrors half of the spectrum and negates zeros there, and that of the mean: its angle would be -pi.
        result.imag += 0.0
    return result


def scale_of(count: int, forward: bool, norm: str) -> float:
    """What a transform of `count` points (over all of its axes) is multiplied by."""
    if norm == "ortho":
        return float(count**-0.5)
    return 1.0 / count if (norm == "forward") == forward else 1.0


@routine()
def trigonometric(a: Host, *, transform: str, **options: Any) -> Host:
    """A cosine or sine transform by the `transform` of SciPy for several axes ("dctn", "idctn", "dstn", "idstn")."""
    fft = load("scipy.fft")
    with fft.set_backend("scipy", only=True):
        return getattr(fft, transform)(a, workers=config.num_threads or -1, **options)  # type: ignore[no-any-return]
