"""CuPy's public names and their parameters, from an unpacked or installed CuPy that need not be importable.

``python tools/cupy_gather.py FOLDER`` (the one that holds `cupy` and `cupyx`) writes tests/cupy_names/names.txt. Python
modules are read with `ast`; of compiled ones the signatures are read that Cython puts before docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "tests" / "cupy_names" / "names.txt"

MODULES = (
    "cupy", "cupy.random", "cupy.fft", "cupy.fft.config", "cupy.linalg", "cupy.polynomial",
    "cupy.polynomial.polynomial", "cupy.polynomial.polyutils", "cupy.lib.stride_tricks", "cupy.exceptions",
    "cupy.typing", "cupy.testing", "cupy.cublas", "cupy.cuda", "cupy.cuda.device", "cupy.cuda.memory",
    "cupy.cuda.pinned_memory", "cupy.cuda.memory_hook",
    "cupy.cuda.memory_hooks", "cupy.cuda.stream", "cupy.cuda.function", "cupy.cuda.graph", "cupy.cuda.compiler",
    "cupy.cuda.profiler", "cupy.cuda.texture", "cupy.cuda.nvtx", "cupy.cuda.runtime", "cupy.cuda.nccl",
    "cupyx", "cupyx.distributed", "cupyx.jit", "cupyx.linalg", "cupyx.optimizing", "cupyx.profiler", "cupyx.signal",
    "cupyx.time", "cupyx.scipy", "cupyx.scipy.fft", "cupyx.scipy.fftpack", "cupyx.scipy.interpolate",
    "cupyx.scipy.linalg", "cupyx.scipy.ndimage", "cupyx.scipy.signal", "cupyx.scipy.signal.windows",
    "cupyx.scipy.sparse", "cupyx.scipy.sparse.csgraph", "cupyx.scipy.sparse.linalg", "cupyx.scipy.spatial",
    "cupyx.scipy.spatial.distance", "cupyx.scipy.special", "cupyx.scipy.stats",
)  # fmt: skip

CLASSES = {
    "cupy": ("ndarray", "ufunc", "ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule", "poly1d"),
    "cupy.random": ("Generator", "RandomState"),
    "cupy.cuda": (
        "Device", "Event", "ExternalStream", "Function", "Graph", "Memory", "MemoryAsyncPool", "MemoryHook",
        "MemoryPointer", "MemoryPool", "Module", "PinnedMemoryPool", "Stream",
    ),
}  # fmt: skip
"""Classes whose members are listed."""

ELSEWHERE = {
    "cupy.cuda.nvtx": "cupy_backends.cuda.libs.nvtx",
    "cupy.cuda.runtime": "cupy_backends.cuda.api.runtime",
    "cupy.cuda.nccl": "cupy_backends.cuda.libs.nccl",
    "cupy.random.Generator": "cupy.random._generator_api",
    "cupy.fft.config": "cupy.fft._config",
}
"""Modules that are not where their names say."""

BASES = {
    "ndarray": "_ndarray_base", "Stream": "_BaseStream", "ExternalStream": "_BaseStream", "Memory": "BaseMemory",
}  # fmt: skip
"""Compiled classes and what they inherit from."""

PROPERTIES = {
    "ndarray": "T base cstruct data device dtype flags flat imag itemsize mT nbytes ndim real shape size strides",
    "ufunc": "name nargs nin nout types",
    "ElementwiseKernel": (
        "cached_code cached_codes in_params kernel_name name nargs nin nout operation out_params params"
    ),
    "ReductionKernel": "cached_code cached_codes",
    "RawKernel": (
        "attributes backend binary_version cache_mode_ca code const_size_bytes enable_cooperative_groups file_path "
        "kernel local_size_bytes max_dynamic_shared_size_bytes max_threads_per_block name num_regs options "
        "preferred_shared_memory_carveout ptx_version shared_size_bytes"
    ),
    "RawModule": "backend code enable_cooperative_groups file_path module name_expressions options",
    "Device": "attributes compute_capability id mem_info pci_bus_id cublas_handle cusolver_handle cusparse_handle",
    "Event": "done ptr",
    "Stream": "null ptds ptr device_id done",
    "ExternalStream": "ptr device_id done",
    "Memory": "device device_id ptr size",
    "MemoryPointer": "device device_id mem ptr",
    "poly1d": "coeffs order roots variable",
}
"""Attributes of compiled classes, which have no signature; from CuPy's reference and its type stubs."""

COMPILED_NAMES = {
    "cupy": "cublas fft lib linalg polynomial random testing typing",
    "cupy.fft.config": "devices enable_nd_planning set_cufft_gpus use_multi_gpus",
    "cupy.random": "Generator",
    "cupyx": "cusolver cusparse cutensor distributed jit lapack profiler signal",
    "cupyx.scipy": "fft fftpack interpolate linalg ndimage signal sparse spatial special stats",
    "cupy.cuda": "cufft curand cublas cusolver cusparse jitify nccl",
    "cupy.cuda.runtime": (
        "CUDARuntimeError memcpyDefault memcpyDeviceToDevice memcpyDeviceToHost memcpyHostToDevice memcpyHostToHost "
        "streamDefault streamNonBlocking eventDefault eventBlockingSync eventDisableTiming eventInterprocess is_hip "
        "cudaDevAttrMaxThreadsPerBlock cudaDevAttrMultiProcessorCount cudaDevAttrComputeCapabilityMajor "
        "cudaAddressModeBorder cudaAddressModeClamp cudaAddressModeMirror cudaAddressModeWrap "
        "cudaChannelFormatKindFloat cudaChannelFormatKindSigned cudaChannelFormatKindUnsigned cudaFilterModeLinear "
        "cudaFilterModePoint cudaReadModeElementType cudaReadModeNormalizedFloat cudaResourceTypeArray "
        "cudaResourceTypeLinear cudaResourceTypePitch2D "
        "cudaDevAttrComputeCapabilityMinor cudaDevAttrMaxSharedMemoryPerBlock cudaDevAttrWarpSize"
    ),
}
"""Names that neither reading finds."""

NOT_NAMES = ("close", "decltype", "operator", "send", "throw")
"""What looks like a signature in a compiled file and is C++'s, or of generators."""
HIDDEN = {
    "cupy": ("disp", "find_common_type", "get_array_wrap", "safe_eval", "set_string_function"),
    "cupy.fft.config": ("config",),
    "cupy.cublas": ("linalg",),
}
"""Names that serve a module itself, and functions that only say that NumPy removed them."""
PACKAGES = ("cupy", "cupy.cuda", "cupy.polynomial", "cupyx", "cupyx.scipy")
"""Modules whose modules are listed as names."""

Entry = str | None
"""Parameters as text, or None where they are not known."""


def parameters(args: ast.arguments, skip_first: bool) -> str:
    """Parameters as text: names, ``=`` after those with defaults, ``*`` and ``/`` as in Python."""
    ordinary = [*args.posonlyargs, *args.args]
    first_default = len(ordinary) - len(args.defaults)
    parts = [arg.arg + "=" * (k >= first_default) for k, arg in enumerate(ordinary)]
    if args.posonlyargs:
        parts.insert(len(args.posonlyargs), "/")
    if skip_first:
        parts = parts[1:]
    if args.vararg:
        parts.append("*" + args.vararg.arg)
    elif args.kwonlyargs:
        parts.append("*")
    parts += [arg.arg + "=" * (value is not None) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        parts.append("**" + args.kwarg.arg)
    return ", ".join(parts)


def embedded(text: str) -> str:
    """The same of a signature that Cython wrote: types of C go, `self` goes.

    >>> embedded("self, str name, Py_ssize_t n=0, *, tuple shape=(1, 2)")
    'name, n=, *, shape='
    """
    parts, depth, part = [], 0, ""
    for letter in text + ",":
        if letter == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            depth += (letter in "([{") - (letter in ")]}")
            part += letter
    found = []
    for part in parts:
        name, default, _ = part.partition("=")
        name = name.strip()
        if name:
            found.append((name if name[0] in "*/" else name.split()[-1].strip("*")) + "=" * bool(default))
    return ", ".join(found[1:] if found[:1] in (["self"], ["cls"]) else found)


class Sources:
    """The files of an unpacked CuPy."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cache  # noqa: B019
    def tree(self, module: str) -> ast.Module | None:
        """The text of a Python module."""
        base = self.root / module.replace(".", "/")
        for file in (base / "__init__.py", base.with_suffix(".py")):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    @cache  # noqa: B019
    def compiled(self, module: str) -> dict[str, str]:
        """Signatures of a compiled module, by ``name`` and ``Class.name``."""
        base = self.root / module.replace(".", "/")
        files = sorted(base.parent.glob(base.name + ".*.so")) if base.parent.is_dir() else []
        if not files:
            return {}
        found: dict[str, str] = {}
        pattern = rb"[\x00\n]([A-Za-z_]\w*(?:\.\w+)?)\(([^\n\x00]*)\)(?: -> [^\n\x00]*)?(?=[\n\x00])"
        for match in re.finditer(pattern, files[0].read_bytes()):
            name, text = match[1].decode(), match[2].decode(errors="replace")
            if "pyx_" not in text + name and name not in NOT_NAMES:
                found.setdefault(name, embedded(text))
        return found

    def names(self, module: str) -> dict[str, Entry]:
        """Public names of a module."""
        module = ELSEWHERE.get(module, module)
        tree = self.tree(module)
        if tree is None:
            flat = {name: text for name, text in self.compiled(module).items() if "." not in name}
            flat |= {name.partition(".")[0]: flat.get(name.partition(".")[0]) for name in self.compiled(module)}
            return {name: text for name, text in flat.items() if name[0] != "_"}
        found: dict[str, Entry] = {}
        for name, node in bound(tree):
            if name[0] != "_" and not (isinstance(node, ast.ImportFrom) and not self._of_interest(module, node, name)):
                found[name] = self.signature(module, name, node)
        exported = _exported(tree)
        return {name: found.get(name) for name in exported} if exported is not None else found

    def _of_interest(self, module: str, node: ast.ImportFrom, name: str) -> bool:
        """Whether an import makes a public name, rather than serving the module."""
        source = node.module or ""
        if source.split(".")[0] not in ("cupy", "cupyx", "cupy_backends", "numpy"):
            return False
        path = self.root / source.replace(".", "/") / name
        return module in PACKAGES or not (path.is_dir() or any(path.parent.glob(f"{name}.*")))

    def signature(self, module: str, name: str, node: ast.stmt) -> Entry:
        """Parameters of what a statement binds to a name."""
        if isinstance(node, ast.FunctionDef):
            return None if node.decorator_list and _changes(node) else parameters(node.args, False)
        if isinstance(node, ast.ClassDef):
            return self.members(module, name).get("__init__")
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("cupy", "cupyx"):
            original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
            return None if (node.module, original) == (module, name) else self.resolve(node.module, original)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            return self.resolve(module, node.value.id)
        return None

    def resolve(self, module: str, name: str) -> Entry:
        """Parameters of a name of a module."""
        tree = self.tree(module)
        if tree is None:
            found = self.compiled(module)
            return found.get(name, found.get(f"{name}.__init__"))
        last = None
        for bound_name, node in bound(tree):
            if bound_name == name:
                last = node
        return None if last is None else self.signature(module, name, last)

    def members(self, module: str, name: str) -> dict[str, Entry]:
        """Members of a class."""
        tree = self.tree(module)
        if tree is None:
            found: dict[str, Entry] = {}
            for kind in (BASES.get(name), name):
                start = f"{kind}."
                found |= {
                    key.removeprefix(start): text
                    for key, text in self.compiled(module).items()
                    if key.startswith(start)
                }
            return found
        for bound_name, node in bound(tree):
            if bound_name != name:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                return self.members(node.module, original)
            if isinstance(node, ast.ClassDef):
                found = {}
                for base in node.bases:
                    if isinstance(base, (ast.Name, ast.Attribute)):
                        found |= self.members(module, base.id if isinstance(base, ast.Name) else base.attr)
                for item in node.body:
                    if isinstance(item, ast.FunctionDef):
                        plain = any("property" in ast.unparse(one) for one in item.decorator_list)
                        static = any("staticmethod" in ast.unparse(one) for one in item.decorator_list)
                        found[item.name] = None if plain else parameters(item.args, not static)
                return found
        return {}


def _changes(node: ast.FunctionDef) -> bool:
    """Whether a decorator may change the parameters."""
    return not all("fuse" in ast.unparse(one) or "wraps" in ast.unparse(one) for one in node.decorator_list)


def _exported(tree: ast.Module) -> list[str] | None:
    for name, node in bound(tree):
        if name == "__all__" and isinstance(node, ast.Assign):
            try:
                return list(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def bound(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Names that the statements of a module bind, those within ``if`` and ``try`` too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node
        elif isinstance(node, ast.If) and "__version__ < '2'" in ast.unparse(node.test):
            yield from bound(ast.Module(node.orelse, []))
        elif isinstance(node, (ast.If, ast.Try)):
            yield from bound(node)


def table(root: Path) -> str:
    """The list as text: a line ``[module]`` or ``[module.Class]``, then a name with its parameters on each line."""
    sources = Sources(root)
    release = re.search(r"__version__ = '([^']+)'", (root / "cupy" / "_version.py").read_text(encoding="utf-8"))
    lines = [f"CuPy {release[1] if release else ''}: names and parameters, by tools/cupy_gather.py"]
    for module in MODULES:
        names = sources.names(module)
        for name in COMPILED_NAMES.get(module, "").split():
            names.setdefault(name, None)
        for name in HIDDEN.get(module, ()):
            names.pop(name, None)
        if not names:
            print(f"{module}: nothing found", file=sys.stderr)
        lines += ["", f"[{module}]", *_lines(names)]
        for kind in CLASSES.get(module, ()):
            members = sources.members(ELSEWHERE.get(f"{module}.{kind}", module), kind)
            members = {name: text for name, text in members.items() if name[0] != "_"}
            for name in PROPERTIES.get(kind, "").split():
                members[name] = None
            lines += ["", f"[{module}.{kind}]", *_lines(members)]
    return "\n".join(lines) + "\n"


def _lines(names: dict[str, Entry]) -> list[str]:
    return [name if text is None else f"{name}({text})" for name, text in sorted(names.items())]


if __name__ == "__main__":
    TARGET.write_text(table(Path(sys.argv[1])), encoding="utf-8")
