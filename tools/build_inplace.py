"""Build the compiled core beside its sources, for work in the source tree: ``python tools/build_inplace.py``.

Builds what changed: every ``.py`` with a ``.pxd`` of the same name, every ``.pyx``, and the library of
single-operation loops. ``--clean`` removes what was built (the package then runs uncompiled),
``--force`` builds everything anew, ``--jobs N`` runs N compilers at once. CC, CXX, CFLAGS and CXXFLAGS of the
environment are heeded (``tools/sanitize.sh``).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
from build_options import DIRECTIVES, INCLUDED, LOOP_FLAGS, MODULE_FLAGS, WIDE_FLAGS, check_cython

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "numloom"
WORK = ROOT / "build" / "inplace"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LOOPS = PACKAGE / "device" / "cpu" / "_loops.so"
WIDE_LOOPS = LOOPS.with_name("_loops_wide.so")


def modules() -> list[Path]:
    """Sources of the compiled core."""
    paired = [path.with_suffix(".py") for path in PACKAGE.rglob("*.pxd") if path.with_suffix(".py").exists()]
    return sorted([*paired, *PACKAGE.rglob("*.pyx")])


def newest(*paths: Path) -> float:
    """Time of the last change among paths."""
    return max((path.stat().st_mtime for path in paths if path.exists()), default=0.0)


def compile_module(source: Path, force: bool) -> str | None:
    """Translate and compile one module; returns what was done, None where nothing had to be."""
    target = source.with_name(source.stem + SUFFIX)
    inputs = [source, *PACKAGE.rglob("*.pxd"), *source.parent.glob("*.hpp"), PACKAGE / INCLUDED]
    if not force and target.exists() and target.stat().st_mtime > newest(*inputs):
        return None
    plus = "language = c++" in source.read_text()[:400]
    text = WORK / source.relative_to(PACKAGE).with_suffix(".cpp" if plus else ".c")
    text.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cython", *DIRECTIVES, *(["--cplus"] if plus else []), source, "-o", text]
    subprocess.run(command, check=True, cwd=PACKAGE.parent)
    compiler = os.environ.get("CXX" if plus else "CC", "g++" if plus else "gcc")
    built = target.with_name(target.name + f".{os.getpid()}")
    command = [
        *shlex.split(compiler), *MODULE_FLAGS, "-fPIC", "-shared",
        *(["-std=c++17", "-pthread"] if plus else []),
        *shlex.split(os.environ.get("CXXFLAGS" if plus else "CFLAGS", "")),
        f"-I{sysconfig.get_path('include')}", f"-I{source.parent}", f"-I{numpy.get_include()}",
        "-include", PACKAGE / INCLUDED, text, "-o", built,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    built.replace(target)
    return str(source.relative_to(ROOT))


def compile_loops(force: bool) -> str | None:
    """Generate the library of single-operation loops, and compile it for every processor and for those of today."""
    generator = PACKAGE / "emit" / "loops.py"
    if not generator.exists():
        return None
    inputs = [path for part in ("base", "ops", "emit") for path in (PACKAGE / part).rglob("*") if path.is_file()]
    inputs = [path for path in inputs if path.suffix in (".py", ".hpp", ".h")]
    if not force and LOOPS.exists() and LOOPS.stat().st_mtime > newest(*inputs):
        return None
    WORK.mkdir(parents=True, exist_ok=True)
    text = WORK / "loops.cpp"
    subprocess.run([sys.executable, ROOT / "tools" / "generate_loops.py", text], check=True)
    compiler, last = shlex.split(os.environ.get("CXX", "g++")), shlex.split(os.environ.get("CXXFLAGS", ""))
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    for target, flags in ((WIDE_LOOPS, WIDE_FLAGS), (LOOPS, []))[0 if x86 else 1 :]:
        built = target.with_name(f"{target.name}.{os.getpid()}")
        subprocess.run(
            [*compiler, "-std=c++17", *LOOP_FLAGS, "-shared", "-fPIC", *flags, *last, text, "-o", built], check=True
        )
        built.replace(target)
    return "numloom/device/cpu/_loops.so"


def clean() -> None:
    """Remove everything that was built in the tree."""
    for source in modules():
        source.with_name(source.stem + SUFFIX).unlink(missing_ok=True)
    LOOPS.unlink(missing_ok=True)
    WIDE_LOOPS.unlink(missing_ok=True)


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--no-loops", action="store_true", help="leave the library of loops alone")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.clean:
        clean()
        return
    check_cython()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as executor:
        tasks = [] if options.no_loops else [executor.submit(compile_loops, options.force)]
        tasks += [executor.submit(compile_module, source, options.force) for source in modules()]
        failed = 0
        for task in tasks:
            try:
                done = task.result()
            except subprocess.CalledProcessError as error:
                print(f"failed: {shlex.join(map(str, error.cmd))}", file=sys.stderr)
                failed = 1
            else:
                if done:
                    print(f"built {done}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
