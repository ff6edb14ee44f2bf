"""Build the compiled core beside its sources, for work in the source tree: ``python tools/build_inplace.py``.

Builds what changed: every ``.py`` with a ``.pxd`` of the same name, every ``.pyx``, and the library of
single-operation loops. ``--clean`` removes what was built (the package then runs uncompiled),
``--force`` builds everything anew, ``--jobs N`` runs N compilers at once. CC, CXX, CFLAGS and CXXFLAGS of the
environment are heeded (``tools/sanitize.sh``). Where ccache is installed, compilers run under it with paths that are
relative to the tree, so that another tree with the same sources takes its objects.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
from build_options import INCLUDED, LOOP_FLAGS, MODULE_FLAGS, WIDE_FLAGS, check_cython
from translate import translate

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "numloom"
WORK = ROOT / "build" / "inplace"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LOOPS = PACKAGE / "device" / "cpu" / "_loops.so"
WIDE_LOOPS = LOOPS.with_name("_loops_wide.so")


def compile_and_link(compiler: str, flags: list[str], last: str, text: Path, target: Path, linking: list[str]) -> None:
    """Compile one text to a shared library, which takes the place of `target` when it is whole.

    In two commands, since ccache takes no command that links, and from the root of the tree with relative paths, since
    another tree asks with others.
    """
    words, own = shlex.split(compiler), shlex.split(last)
    cache = ["ccache"] if shutil.which("ccache") and words[0] != "ccache" else []
    settings = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    environment = {**os.environ, **settings}
    built = target.with_name(f"{target.name}.{os.getpid()}")
    part = text.with_name(f"{target.name}.o")
    compiling = [*cache, *words, *flags, *own, "-fPIC", "-c", text.relative_to(ROOT), "-o", part.relative_to(ROOT)]
    subprocess.run(compiling, check=True, cwd=ROOT, env=environment)
    subprocess.run([*words, *own, "-shared", *linking, part, "-o", built], check=True)
    built.replace(target)


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
    translate(source, text, plus)
    flags = [
        *MODULE_FLAGS, *(["-std=c++17", "-pthread"] if plus else []), f"-I{sysconfig.get_path('include')}",
        f"-I{source.parent.relative_to(ROOT)}", f"-I{numpy.get_include()}", "-include", f"src/numloom/{INCLUDED}",
    ]  # fmt: skip
    compiler = os.environ.get("CXX" if plus else "CC", "g++" if plus else "gcc")
    last = os.environ.get("CXXFLAGS" if plus else "CFLAGS", "")
    compile_and_link(compiler, flags, last, text, target, ["-pthread"] if plus else [])
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
    compiler, last = os.environ.get("CXX", "g++"), os.environ.get("CXXFLAGS", "")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    for target, wide in ((WIDE_LOOPS, WIDE_FLAGS), (LOOPS, []))[0 if x86 else 1 :]:
        compile_and_link(compiler, ["-std=c++17", *LOOP_FLAGS, *wide], last, text, target, [])
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
