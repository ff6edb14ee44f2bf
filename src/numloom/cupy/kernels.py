"""``cupy.RawKernel`` and ``cupy.RawModule``: numloom's, with CuPy's attributes that tell what they were made of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numloom

HEADERS = Path(__file__).parent / "include"
"""The headers that CuPy's kernels include as ``<cupy/...>``: complex numbers."""


def _with_headers(options: Any, code: Any, path: Any) -> tuple[str, ...]:
    """Compiler options, with the folder of CuPy's headers where a source includes one of them."""
    texts = [code] if isinstance(code, str) else list(code.values()) if isinstance(code, dict) else list(code or ())
    if isinstance(path, (str, os.PathLike)) and not str(path).endswith((".cubin", ".fatbin", ".ptx")):
        texts.append(Path(path).read_text(encoding="utf-8"))
    used = any(isinstance(text, str) and "cupy/complex.cuh" in text for text in texts)
    return (*options, f"-I{HEADERS}") if used else tuple(options)


class RawModule(numloom.RawModule):
    """`numloom.RawModule`, which also tells `code` and `file_path`.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> module = cp.RawModule(code='extern "C" __global__ void two(int* x) { *x = 2; }')
    >>> module.get_function("two").code == module.code
    True
    """

    def __init__(
        self, code: Any = None, *, path: Any = None, options: Any = (), backend: str = "nvrtc", **more: Any
    ) -> None:
        super().__init__(code, path=path, options=_with_headers(options, code, path), backend=_known(backend), **more)
        self.code, self.file_path = code, path

    backend = "nvrtc"

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name, or by one of the name expressions; ValueError if there is none."""
        super().get_function(name)
        return _kernel_of(self, name)


def _known(backend: str) -> str:
    """CuPy's two compilers are one here."""
    return "nvrtc" if backend == "nvcc" else backend


def _kernel_of(source: Any, name: str) -> RawKernel:
    kernel = RawKernel.__new__(RawKernel)
    kernel._take(source, name)
    return kernel


class RawKernel(numloom.RawKernel):
    """`numloom.RawKernel`, which also tells `code`, `options`, `backend` and `file_path`.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> two = cp.RawKernel('extern "C" __global__ void two(int* x) { *x = 2; }', "two", ("-std=c++17",))
    >>> x = cp.zeros(1, cp.int32)
    >>> two((1,), (1,), (x,))
    >>> int(x[0]), two.options
    (2, ('-std=c++17',))
    """

    def __init__(
        self, code: Any, name: str, options: Any = (), backend: str = "nvrtc", translate_cucomplex: bool = False,
        *, enable_cooperative_groups: bool = False, jitify: Any = False,
    ) -> None:  # fmt: skip
        super().__init__(
            code,
            name,
            _with_headers(options, code, None),
            _known(backend),
            enable_cooperative_groups=enable_cooperative_groups,
            jitify=bool(jitify),
        )

    def __reduce__(self) -> Any:
        return _kernel_of, (self.source, self.name)

    @property
    def code(self) -> str | None:
        """The source; None of a file."""
        given = getattr(self.source, "code", None)
        texts = list(self.source.sources.values())
        return given if isinstance(given, str) else "\n".join(texts) if texts else None

    @property
    def file_path(self) -> str | None:
        """The file that the source, or what was compiled of it, is in; None of a text."""
        return getattr(self.source, "file_path", None)

    @property
    def options(self) -> tuple[str, ...]:
        """Compiler options."""
        return tuple(self.source.options)

    @property
    def backend(self) -> str:
        """The compiler: NVRTC on a GPU, the host's on the CPU."""
        return "nvrtc"

    @property
    def enable_cooperative_groups(self) -> bool:
        """Whether all blocks run at once and can wait for each other."""
        return bool(self.cooperative)


__all__ = ["RawKernel", "RawModule"]
