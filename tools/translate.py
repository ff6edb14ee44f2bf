"""Translate a module of the compiled core by Cython: ``python tools/translate.py [--cplus] SOURCE TARGET``.

Where the environment's ``NUMLOOM_TRANSLATED`` names a folder, what was translated is kept there, and a later build of
the same sources (in another copy of the tree, for another environment) takes it from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from build_options import DIRECTIVES

SOURCES = Path(__file__).resolve().parent.parent / "src"


def identity(source: Path, options: list[str]) -> str:
    """Name what a translation follows from: Cython, its options, the module, and every declaration."""
    import Cython
    import numpy

    told = hashlib.sha256(repr((Cython.__version__, numpy.__version__, options)).encode())
    for path in (source, *sorted(SOURCES.rglob("*.pxd"))):
        text = path.read_bytes()
        told.update(f"\0{os.path.relpath(path, SOURCES)}\0{len(text)}\0".encode())
        told.update(text)
    return told.hexdigest()[:32]


def translate(source: Path, target: Path, plus: bool) -> None:
    """Write a module's C or C++ text to `target`."""
    options = [*DIRECTIVES, *(["--cplus"] if plus else [])]
    folder = os.environ.get("NUMLOOM_TRANSLATED")
    kept = Path(folder) / identity(source, options) if folder else None
    target.unlink(missing_ok=True)
    if kept is None or not kept.exists():
        command = [sys.executable, "-m", "cython", *options, str(source), "-o", str(target)]
        subprocess.run(command, check=True, cwd=SOURCES)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_name(f"{kept.name}.{os.getpid()}")
            shutil.copyfile(target, part)
            part.replace(kept)
        return
    shutil.copyfile(kept, target)


def main() -> None:
    """Read the command line and translate."""
    words = sys.argv[1:]
    plus = "--cplus" in words
    paths = [word for word in words if word != "--cplus"]
    if len(paths) != 2:
        sys.exit("usage: python tools/translate.py [--cplus] SOURCE TARGET")
    try:
        translate(Path(paths[0]).resolve(), Path(paths[1]).resolve(), plus)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


if __name__ == "__main__":
    main()
