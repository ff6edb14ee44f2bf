"""What this installation has and what it lacks, each with its cure; reports, and never fails."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from numloom.base.config import config
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.cpu import compiler

Row = tuple[str, str]

# Distribution, what it is for, and the extra that brings it.
LIBRARIES: tuple[tuple[str, str, str], ...] = (
    ("numpy", "host arrays, type rules", ""),
    ("scipy", "routines on the CPU", ""),
    ("ml-dtypes", "bfloat16, float8", ""),
    ("rich", "tables and progress", ""),
    ("cuda-bindings", "driver calls", "cuda13-core"),
    ("cuda-core", "devices and programs", "cuda13-core"),
    ("cuda-pathfinder", "finding CUDA's libraries", "cuda13-core"),
    ("nvidia-cuda-nvrtc", "compiling kernels for the GPU", "cuda13-core"),
    ("nvidia-cuda-runtime", "float16 headers", "cuda13-core"),
    ("cuda-cccl", "device-wide sorts and selections", "cuda13-core"),
    ("nvmath-python", "cuBLAS, cuSOLVER, cuSPARSE, cuFFT", "cuda13"),
    ("nvidia-cublas", "matrix products on the GPU", "cuda13"),
    ("ziglang", "a C++ compiler, where the system has none", "zig"),
    ("matplotlib", "pictures of the demo and benchmarks", "demo"),
    ("scikit-learn", "data of the demo", "demo"),
)


def info(console: Console | None = None) -> int:
    """Print the report; always 0."""
    console = console or Console()
    cures: list[str] = []
    sections: tuple[tuple[str, Callable[[list[str]], Iterator[Row]]], ...] = (
        ("numloom", _package),
        ("devices", _devices),
        ("compilers", _compilers),
        ("kernel cache", _cache),
        ("libraries", _libraries),
    )
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for title, section in sections:
        table.add_row(f"[cyan]{title}[/]", "")
        rows: list[Row] = []
        try:
            rows.extend(section(cures))
        except Exception as error:  # A report that fails tells nothing.
            rows.append(("  not known", f"{type(error).__name__}: {error}"))
        for name, text in rows:
            table.add_row(f"  {name}", text.replace("[", "\\["))
    console.print(table)
    if cures:
        console.print("\n[cyan]missing, with the cure[/]")
        for cure in dict.fromkeys(cures):
            console.print(f"  • {cure}", highlight=False, markup=False, soft_wrap=True)
    else:
        console.print("\nnothing is missing")
    return 0


def _package(cures: list[str]) -> Iterator[Row]:
    yield "version", _version("numloom") or "not installed: run from its source tree"
    yield "Python", f"{platform.python_version()} ({sys.platform}, {platform.machine()})"
    compiled, pure = core_modules()
    if pure:
        cures.append(
            f"{len(pure)} of {len(compiled) + len(pure)} modules of the core run uncompiled, which makes recording "
            "slower: install a C++ compiler and reinstall numloom without NUMLOOM_PURE in the environment"
        )
    mixed = f"compiled, except {', '.join(pure)}" if compiled else "pure Python"
    yield "core", mixed if pure else "compiled"
    changed = [name for name in vars(config) if not name.startswith("_") and f"NUMLOOM_{name.upper()}" in os.environ]
    if changed:
        yield "environment", ", ".join(f"NUMLOOM_{name.upper()}={getattr(config, name)}" for name in changed)


def core_modules() -> tuple[list[str], list[str]]:
    """Names of the core's modules that are compiled, and of those that run as plain Python."""
    package = Path(__file__).parent.parent
    compiled: list[str] = []
    pure: list[str] = []
    for declaration in sorted(package.rglob("*.pxd")):
        if not declaration.with_suffix(".py").exists():
            continue
        name = ".".join(declaration.relative_to(package).with_suffix("").parts)
        built = any(declaration.parent.glob(f"{declaration.stem}.*.so"))
        (compiled if built else pure).append(name)
    return compiled, pure


def _devices(cures: list[str]) -> Iterator[Row]:
    threads = config.num_threads or len(os.sched_getaffinity(0))
    yield "cpu", f"{_processor()}, {counted(threads, 'thread')}"
    missing = registry.missing("cuda")
    if missing is not None:
        yield "cuda", f"no: {missing}"
        cures.append(f"GPU: {missing}")
    else:
        yield from _gpus()
    yield "current", registry.current().name


def _gpus() -> Iterator[Row]:
    from cuda.bindings import driver

    _, version = driver.cuDriverGetVersion()
    yield "CUDA driver", f"supports CUDA {version // 1000}.{version % 1000 // 10}"
    driver.cuInit(0)
    _, count = driver.cuDeviceGetCount()
    attribute = driver.CUdevice_attribute
    for index in range(count):
        _, device = driver.cuDeviceGet(index)
        _, name = driver.cuDeviceGetName(128, device)
        _, memory = driver.cuDeviceTotalMem(device)
        major, minor, units = (
            driver.cuDeviceGetAttribute(kind, device)[1]
            for kind in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )
        )
        text = name.split(b"\0")[0].decode()
        yield f"cuda:{index}", f"{text}, {memory / 2**30:.0f} GiB, {units} SM, compute capability {major}.{minor}"


def _compilers(cures: list[str]) -> Iterator[Row]:
    found = compiler.find()
    if found is None:
        cures.append(f"C++ compiler for fused kernels on the CPU: {compiler.CURE}")
        yield "C++", "none: fused kernels on the CPU are not compiled"
    else:
        yield "C++", f"{' '.join(found.command)} ({' '.join(found.flags)})"
    yield "NVRTC", _nvrtc()


def _nvrtc() -> str:
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:
        return f"no: {error}"
    return f"{major}.{minor}"


def _cache(cures: list[str]) -> Iterator[Row]:
    yield "folder", config.cache_dir
    files = [path for path in Path(config.cache_dir).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    yield (
        "content",
        f"{counted(len(files), 'file')}, {size / 2**20:.1f} MiB of at most {config.cache_bytes / 2**20:.0f} MiB",
    )
    parent = Path(config.cache_dir)
    while not parent.exists():
        parent = parent.parent
    if not os.access(parent, os.W_OK):
        cures.append(f"kernel cache: {config.cache_dir} cannot be written; name another folder in NUMLOOM_CACHE_DIR")


def _libraries(cures: list[str]) -> Iterator[Row]:
    lacking: dict[str, list[str]] = {}
    for name, purpose, extra in LIBRARIES:
        version = np.__version__ if name == "numpy" else _version(name)
        yield name, f"{version or '–':12} {purpose}"
        if version is None:
            lacking.setdefault(extra, []).append(name)
    for extra, names in lacking.items():
        # A compiler wheel helps only where the system has none, and that is said above.
        if extra != "zig":
            package = f"numloom[{extra}]" if extra else "numloom"
            use = " (for the GPU)" if extra.startswith("cuda") else ""
            cures.append(f"{', '.join(names)}{use}: run `pip install '{package}'`")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        # CUDA's component wheels have carried the major version in their names.
        for suffix in ("-cu13", "-cu12"):
            try:
                return importlib.metadata.version(distribution + suffix)
            except importlib.metadata.PackageNotFoundError:
                continue
    return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
