"""``cupy.cuda.function``: compiled files and their kernels by CuPy's older names, over `numloom.RawModule`."""

from __future__ import annotations

from typing import Any

import numloom


class Module:
    """A compiled file (``.cubin``, ``.fatbin`` or ``.ptx``); on a GPU.

    Notes
    -----
    `numloom.RawModule` does the same, and knows more of sources in CUDA C++.
    """

    def __init__(self) -> None:
        self._module: Any = None

    def load_file(self, filename: Any) -> None:
        """Load a compiled file."""
        self._module = numloom.RawModule(path=filename)

    def get_function(self, name: str) -> Function:
        """A kernel by its name."""
        return Function(self, name)

    def get_global_var(self, name: str) -> Any:
        """An array over the bytes of a variable."""
        return self._loaded().get_global(name)

    def _loaded(self) -> Any:
        if self._module is None:
            raise ValueError("nothing is loaded yet: call load_file with the name of a compiled file")
        return self._module


class Function:
    """A kernel of a compiled file: ``f(grid, block, args, shared_mem=0, stream=None)``.

    Parameters
    ----------
    module : Module
        Where it is.
    funcname : str
        Its name.
    """

    def __init__(self, module: Module, funcname: str) -> None:
        self._kernel = module._loaded().get_function(funcname)

    def __call__(
        self, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        """Launch it."""
        if enable_cooperative_groups:
            raise NotImplementedError("make the kernel with RawModule(path=..., enable_cooperative_groups=True)")
        self._kernel(grid, block, tuple(args), shared_mem=shared_mem, stream=stream)

    def linear_launch(
        self, size: int, args: Any, shared_mem: int = 0, block_max_size: int = 128, stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        """Launch it with at least `size` threads, in blocks of `block_max_size`."""
        blocks = -(-size // block_max_size)
        self((blocks,), (block_max_size,), args, shared_mem, stream, enable_cooperative_groups)


__all__ = ["Function", "Module"]
