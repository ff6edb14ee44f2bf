"""The cookbook of the gallery: times, pictures and pages of the tasks in ``examples/cookbook``.

``python tools/cookbook.py check`` runs each task at a small size under NumPy and numloom and compares;
``time --device cpu`` measures at full size and writes the times to ``docs/gallery/cookbook.json``;
``pictures`` draws; ``pages FOLDER`` writes a page for each task, as ``docs/conf.py`` does when the site is built.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "examples" / "cookbook"
GALLERY = ROOT / "docs" / "gallery"
TIMES = GALLERY / "cookbook.json"
ROUNDS = 3
ORDER = {
    "Images": ["image_filters", "otsu_threshold", "image_compression", "deblur_by_fft", "tomography",
               "shape_from_light", "stippling", "ray_casting"],
    "Signals, series and tables": ["spectrogram", "moving_windows", "kalman_filter", "tables_by_group"],
    "Chance": ["option_by_simulation", "option_greeks", "bootstrap", "density", "random_walks", "ising_magnet",
               "percolation"],
    "Learning from data": ["kmeans", "principal_components", "nearest_neighbours", "robust_regression",
                           "neural_network", "fit_by_gradient", "page_rank"],
    "Nature": ["galaxies", "butterfly_effect", "heat_in_a_plate", "waves_through_slits", "spots_and_stripes",
               "diffraction"],
    "Patterns and kernels": ["game_of_life", "mandelbrot", "own_kernel"],
}  # fmt: skip
NAMES = [name for names in ORDER.values() for name in names]


def task(name: str) -> ModuleType:
    """The module of a task."""
    spec = importlib.util.spec_from_file_location(f"cookbook_{name}", TASKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(module: ModuleType, xp: Any, size: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a task is given (as arrays of `xp`), and what it finds."""
    given = {
        name: xp.asarray(value) if isinstance(value, np.ndarray) else value
        for name, value in module.inputs(**size).items()
    }
    return given, module.compute(xp, **given)


def on_host(found: dict[str, Any]) -> dict[str, Any]:
    """Results as NumPy's arrays."""
    return {name: value.get() if hasattr(value, "get") else np.asarray(value) for name, value in found.items()}


def difference(module: ModuleType, mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What does not agree between two results on the host; nothing if they do."""
    told = []
    for name, wanted in theirs.items():
        got = mine[name]
        if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
            told.append(f"{name} is {got.dtype}{got.shape} for {wanted.dtype}{wanted.shape}")
    if told or mine.keys() != theirs.keys():
        return "; ".join(told) or "other names"
    if hasattr(module, "agree"):
        return "" if module.agree(mine, theirs) else "agree() says no"
    tolerance = getattr(module, "TOLERANCE", 1e-6)
    for name, wanted in theirs.items():
        if wanted.dtype.kind in "biu":
            if (share := float((mine[name] != wanted).mean())) > tolerance:
                told.append(f"{name}: {share:.2%} differ")
            continue
        most = float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
        if not np.allclose(mine[name], wanted, rtol=tolerance, atol=tolerance * most, equal_nan=True):
            told.append(f"{name} differs by {np.nanmax(np.abs(mine[name] - wanted)):.3g}")
    return "; ".join(told)


def check(names: Iterable[str], full: bool = False) -> int:
    """Compare NumPy and numloom; the number of tasks that differ."""
    import numloom as nl

    failed = 0
    for name in names:
        module = task(name)
        size = module.FULL if full else module.SMALL
        said = difference(module, on_host(results(module, nl, size)[1]), on_host(results(module, np, size)[1]))
        failed += bool(said)
        print(f"{name}: {said or 'agree'}", flush=True)
    return failed


def seconds(module: ModuleType, xp: Any, given: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Seconds from arrays in the module's memory to answers on the host, and these."""
    begin = time.perf_counter()
    found = on_host(module.compute(xp, **given))
    return time.perf_counter() - begin, found


def measure(name: str) -> dict[str, Any]:
    """Times of one task in milliseconds: NumPy's, the first and the best of ours, and what ran."""
    import numloom as nl
    from numloom.engine.state import counters

    module = task(name)
    given = module.inputs(**module.FULL)
    seconds(module, np, module.inputs(**module.SMALL))
    ours = {key: nl.asarray(value) if isinstance(value, np.ndarray) else value for key, value in given.items()}
    nl.synchronize()
    first, mine = seconds(module, nl, ours)
    times = []
    for _ in range(ROUNDS):
        before = counters.kernels, counters.library_calls
        times.append(seconds(module, nl, ours)[0])
    theirs, wanted = seconds(module, np, given)
    if theirs < 1:
        theirs = min(theirs, seconds(module, np, given)[0])
    return {
        "numpy": round(1000 * theirs, 2),
        "first": round(1000 * first, 1),
        "again": round(1000 * min(times), 2),
        "kernels": counters.kernels - before[0],
        "calls": counters.library_calls - before[1],
        "agree": not difference(module, mine, wanted),
    }


def time_all(names: list[str], device: str | None, limit: float) -> dict[str, Any]:
    """Times of tasks on a device, by name, and what the machine is; no task is begun after so many seconds."""
    from numloom.device import registry

    if device:
        registry.use(device)
    begin = time.perf_counter()
    told: dict[str, Any] = {}
    for name in names:
        if time.perf_counter() - begin > limit:
            break
        try:
            told[name] = measure(name)
        except Exception as error:  # the others are measured
            told[name] = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(name, json.dumps(told[name]), file=sys.stderr, flush=True)
    where = registry.current()
    return {"device": where.name, "numpy": np.__version__, "python": platform.python_version(), "tasks": told}


def take_times(key: str, told: dict[str, Any]) -> None:
    """Keep times in the file of times, beside those of other devices."""
    kept = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    before = kept.get(key, {}).get("tasks", {})
    kept[key] = {**told, "tasks": {**before, **told["tasks"]}}
    TIMES.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def draw(module: ModuleType, given: dict[str, Any], found: dict[str, Any], file: Any, dpi: int = 90) -> None:
    """Draw a task's picture to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    module.picture(figure, given, found)
    figure.savefig(file, dpi=dpi, format="jpg", pil_kwargs={"quality": 78, "optimize": True})


def pictures(names: Iterable[str]) -> None:
    """Draw the pictures of tasks from what numloom finds."""
    import numloom as nl

    for name in names:
        module = task(name)
        draw(module, *results(module, nl, module.FULL), GALLERY / f"{name}.jpg")
        print(f"{name}: {(GALLERY / name).with_suffix('.jpg').stat().st_size // 1024} KB", flush=True)


def title_of(module: ModuleType) -> tuple[str, str]:
    """A task's title, and its text."""
    title, _, text = (module.__doc__ or "").partition("\n\n")
    return title.strip().rstrip("."), text.strip()


def milliseconds(value: float) -> str:
    """A time for reading."""
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def row(times: dict[str, Any], name: str) -> list[str]:
    """Times of a task under NumPy and on both devices, and kernels; a dash where there is none."""
    host, gpu = (times.get(key, {}).get("tasks", {}).get(name, {}) for key in ("cpu", "cuda"))
    cells = [milliseconds(host[key]) if key in host else "–" for key in ("numpy", "again")]
    cells.append(milliseconds(gpu["again"]) if "again" in gpu else "–")
    ran = gpu if "kernels" in gpu else host
    return [*cells, str(ran.get("kernels", "–")), str(ran.get("calls", "–"))]


HEADS = ["NumPy", "numloom, CPU", "numloom, GPU", "kernels", "library calls"]


def page(name: str, times: dict[str, Any]) -> str:
    """The page of a task."""
    title, text = title_of(task(name))
    code = (TASKS / f"{name}.py").read_text(encoding="utf-8").partition('"""\n\n')[2]
    code = code.partition("\ndef picture")[0].rstrip() if "\ndef picture" in code else code
    table = "\n".join("| " + " | ".join(line) + " |" for line in (HEADS, ["---:"] * len(HEADS), row(times, name)))
    return (
        f"# {title}\n\n{text}\n\n![{title}](../gallery/{name}.jpg)\n\n{table}\n\n"
        f"```python\n{code}\n```\n\nThe whole program, with its picture: `examples/cookbook/{name}.py`.\n"
    )


def index(times: dict[str, Any]) -> str:
    """The page of all tasks."""
    machines = "; ".join(
        f"{label}: {times[key]['device']}, NumPy {times[key]['numpy']}, Python {times[key]['python']}"
        for key, label in (("cpu", "NumPy and CPU"), ("cuda", "GPU"))
        if key in times
    )
    lines = [
        "# Cookbook\n",
        f"{len(NAMES)} tasks in plain NumPy. Each is a function `compute(np, ...)` that runs under NumPy and under",
        "numloom, and a page says what became of it. Times are from arrays in memory to answers on the host, the best",
        f"of three after a first run that compiles. {machines}.\n",
        "Where it says 0 kernels, work of this size ran on the CPU by ready-made loops, which need no compiling.\n",
    ]
    for head, names in ORDER.items():
        lines.append(f"## {head}\n")
        lines.append("| | task | " + " | ".join(HEADS) + " |")
        lines.append("| --- | --- |" + " ---: |" * len(HEADS))
        for name in names:
            title = title_of(task(name))[0]
            image = f"![{title}](../gallery/{name}.jpg)"
            lines.append(f"| {image} | [{title}]({name}.md) | " + " | ".join(row(times, name)) + " |")
        lines.append("")
    lines.append("```{toctree}\n:hidden:\n\n" + "\n".join(NAMES) + "\n```\n")
    return "\n".join(lines)


def pages(folder: Path) -> None:
    """Write the page of each task and the one of all."""
    folder.mkdir(parents=True, exist_ok=True)
    times = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    for name, text in [("index", index(times)), *((name, page(name, times)) for name in NAMES)]:
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main() -> int:
    """What the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["check", "time", "pictures", "pages"])
    parser.add_argument("names", nargs="*", help="tasks, or the folder of `pages`")
    parser.add_argument("--full", action="store_true", help="check at full size")
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no task is begun")
    parser.add_argument("--print", action="store_true", help="print times as JSON instead of keeping them")
    parser.add_argument("--take", type=Path, help="a file of times that --print wrote, to be kept")
    options = parser.parse_args()
    if options.action == "pages":
        pages(Path(options.names[0]))
        return 0
    names = options.names or NAMES
    if options.action == "check":
        return min(check(names, options.full), 1)
    if options.action == "pictures":
        pictures(names)
        return 0
    if options.take:
        for line in options.take.read_text(encoding="utf-8").splitlines():
            if line.startswith('{"device"'):
                told = json.loads(line)
                take_times(told["device"].partition(":")[0], told)
        return 0
    told = time_all(names, options.device, options.limit)
    if options.print:
        print(json.dumps(told, separators=(",", ":")))
    else:
        take_times(told["device"].partition(":")[0], told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
