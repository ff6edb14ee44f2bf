"""Libraries that take our arrays: einops, opt_einsum, autoray, Dask, xarray, SciPy, scikit-learn."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.convert import host_array
from numloom.array.ndarray import bind
from numloom.engine.state import counters
from numloom.interop.imports import watch

H = np.random.default_rng(0).normal(size=(20, 12))


def same(mine: Any, theirs: Any) -> None:
    assert type(mine) is nl.ndarray, type(mine)
    theirs = np.asarray(theirs)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    np.testing.assert_allclose(mine.get(), theirs, rtol=1e-9, atol=1e-12)


def run(code: str, *folders: Path) -> str:
    found = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), *sys.path])},
    )  # fmt: skip
    assert not found.returncode, found.stderr
    return found.stdout


def test_libraries_are_told_in_whatever_order_they_are_imported(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "wanting_library.py").write_text("arrays = []\n")
    (tmp_path / "wanting_ours.py").write_text(
        "import wanting_library\ndef register():\n    wanting_library.arrays.append(1)\n"
    )
    (tmp_path / "wanting_changed.py").write_text("def register():\n    raise AttributeError('other than it was')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    watch({"wanting_library": "wanting_ours"})
    assert "wanting_library" not in sys.modules
    import wanting_library

    assert wanting_library.arrays == [1]
    watch({"wanting_library": "wanting_ours"})
    assert wanting_library.arrays == [1, 1]
    with pytest.warns(RuntimeWarning, match="other than it was"):
        watch({"wanting_library": "wanting_changed"})
    watch({"wanting_missing": "wanting_ours"})
    with pytest.raises(ModuleNotFoundError):
        import wanting_missing  # noqa: F401
    libraries = ("dask", "einops", "networkx", "pandas", "scipy", "sqlite3")
    assert run(f"import sys, numloom; print([n for n in {libraries} if n in sys.modules])") == "[]\n"


def test_a_loader_of_several_modules_tells_only_of_the_one_that_is_watched(tmp_path: Path, monkeypatch: Any) -> None:
    """pytest's is one: what was registered ran in the middle of other modules that it loaded."""
    (tmp_path / "told_ours.py").write_text("told = []\ndef register():\n    told.append(1)\n")

    class Both(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
            wanted = name in ("shared_watched", "shared_other")
            return importlib.util.spec_from_loader(name, self) if wanted else None

        def create_module(self, spec: Any) -> None:
            return None

        def exec_module(self, module: Any) -> None:
            if module.__name__ == "shared_watched":
                importlib.import_module("shared_other")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [Both(), *sys.meta_path])
    watch({"shared_watched": "told_ours"})
    importlib.import_module("shared_watched")
    assert importlib.import_module("told_ours").told == [1]


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    x = nl.asarray(H)
    for call in (
        lambda x: einops.rearrange(x, "(a c) b -> c (b a)", c=4),
        lambda x: einops.reduce(x, "a (b c) -> a b", "mean", c=3),
        lambda x: einops.reduce(x, "a b -> b", "max"), lambda x: einops.repeat(x, "a b -> a c b", c=2),
        lambda x: einops.einsum(x, x, "a b, c b -> a c"), lambda x: einops.pack([x, x], "* b")[0],
        lambda x: einops.rearrange([x, x], "n a b -> a (n b)"), lambda x: einops.rearrange(x, "a b -> a 1 b"),
    ):  # fmt: skip
        before = counters.waits
        mine = call(x)
        assert counters.waits == before
        same(mine, call(H))
    assert einops.parse_shape(x, "a b") == {"a": 20, "b": 12}
    with pytest.raises(einops.EinopsError):
        einops.rearrange(x, "a b c -> a")


def test_opt_einsum() -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    x = nl.asarray(H)
    for pattern, count in (("ij,kj->ik", 2), ("ij,kj,kl->il", 3), ("ij,ij->", 2), ("ij,ij->ij", 2)):
        same(opt_einsum.contract(pattern, *[x] * count), opt_einsum.contract(pattern, *[H] * count))
    expression = opt_einsum.contract_expression("ij,jk->ik", (20, 12), (12, 20))
    same(expression(x, x.T), H @ H.T)


def test_autoray() -> None:
    autoray = pytest.importorskip("autoray")
    x = nl.asarray(H)
    assert autoray.infer_backend(x) == "numloom"
    for call in (
        lambda x: autoray.do("sum", x, axis=0), lambda x: autoray.do("stack", [x, x]),
        lambda x: autoray.do("einsum", "ij->i", x), lambda x: autoray.do("eye", 3, like=x),
        lambda x: autoray.do("tensordot", x, x, axes=([1], [1])), lambda x: autoray.astype(x, "float32"),
    ):  # fmt: skip
        same(call(x), call(H))
    assert type(autoray.to_numpy(x)) is np.ndarray and autoray.get_dtype_name(x) == "float64"
    same(autoray.do("from_numpy", H, like=x), H)


@pytest.fixture(params=["seen", "unseen"])
def memory(request: Any) -> Any:
    """Memory as it is, and memory that does not become NumPy's by itself, as on a GPU."""
    if request.param == "unseen":

        def refuse(*args: Any) -> Any:
            raise TypeError("numloom arrays on a GPU do not become NumPy arrays by themselves")

        bind(host_array=refuse)
    yield
    bind(host_array=host_array)


@pytest.mark.usefixtures("memory")
def test_dask() -> None:
    da = pytest.importorskip("dask.array")
    import dask

    from numloom.interop.dask_backend import NumloomDaskBackend

    x = nl.asarray(H)
    with dask.config.set(scheduler="synchronous"):
        mine, theirs = da.from_array(x, chunks=(7, 5)), da.from_array(H, chunks=(7, 5))
        for call in (
            lambda d: da.concatenate([d + 1, d], axis=1), lambda d: d.mean(axis=0), lambda d: d.std(axis=1),
            lambda d: da.tensordot(d, d, axes=((0,), (0,))), lambda d: da.einsum("ij,kj->ik", d, d),
            lambda d: d[::2, [1, 3]], lambda d: d.argmax(axis=1), lambda d: da.nanmean(d, axis=0),
            lambda d: da.where(d > 0, np.sin(d), 0), lambda d: d.rechunk((10, 6)).cumsum(axis=0), lambda d: d[d > 0],
            lambda d: da.percentile(d[:, 0].rechunk(20), [25, 50]), lambda d: da.histogram(d, 5, range=(-2, 2))[0],
            lambda d: d.map_overlap(lambda b: b * 2, depth=1, boundary="reflect"), lambda d: da.diag(d[:7, :7]),
            lambda d: x[0] * d, lambda d: d / x[0],
        ):  # fmt: skip
            # Chunks of NumPy's become ours where `x` takes part.
            same(call(mine).compute(), nl.asnumpy(call(theirs).compute()))
        assert dask.sizeof.sizeof(x) == x.nbytes
        assert dask.base.tokenize(x) == dask.base.tokenize(x.copy()) != dask.base.tokenize(x + 1)
        with dask.config.set({"array.backend": "numloom"}):
            for made, wanted in (
                (da.ones((4, 4), chunks=2), np.ones((4, 4))),
                (da.zeros(5), np.zeros(5)),
                (da.full(4, 3.0, chunks=3), np.full(4, 3.0)),
                (da.arange(10, chunks=3), np.arange(10)),
            ):
                same(made.compute(), wanted)
            assert type(da.empty(3).compute()) is nl.ndarray
        assert type(theirs.to_backend("numloom").compute()) is nl.ndarray
        assert mine.to_backend("numloom") is mine and type(mine.to_backend("numpy").compute()) is np.ndarray
    assert NumloomDaskBackend.to_backend_dispatch()(H).device == x.device


def test_dask_finds_an_installed_numloom_by_its_entry_points(tmp_path: Path) -> None:
    if importlib.util.find_spec("dask") is None:
        pytest.skip("Dask is not installed")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    info = tmp_path / "numloom-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numloom\nVersion: 0\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )
    code = """
import dask
import dask.array as da
import sys
assert "numloom" in sys.modules
import numloom as nl
with dask.config.set({"array.backend": "numloom", "scheduler": "synchronous"}):
    print(type(da.ones(4, chunks=2).compute()).__module__, dask.sizeof.sizeof(nl.ones(10)))
print(type(da.from_array(nl.ones(4)).sum()._meta).__module__)
"""
    assert run(code, tmp_path).split() == ["numloom", "80", "numloom"]


@pytest.mark.parametrize("first", ["import dask.array", "import dask.array.random", "import dask", ""])
def test_dask_is_told_in_whatever_order_the_two_are_imported(first: str) -> None:
    if importlib.util.find_spec("dask") is None:
        pytest.skip("Dask is not installed")
    code = f"""{first}
import numloom as nl, dask.array as da
d = da.from_array(nl.ones(4), chunks=2)
for made in d.sum(), d[d > 0], da.histogram(d, 2, range=(0, 1))[0], da.linalg.lu(da.diag(d))[0], da.random.choice(d, 2):
    print(type(made._meta).__module__)
"""
    assert run(code).split() == ["numloom"] * 5


def test_xarray() -> None:
    xarray = pytest.importorskip("xarray")

    def made(values: Any) -> Any:
        return xarray.DataArray(values, dims=("a", "b"), coords={"a": np.arange(20)})

    for call in (
        lambda v: v, lambda v: v.mean("a"), lambda v: v + v, lambda v: v.sel(a=2), lambda v: v.isel(b=slice(1, 3)),
        lambda v: v.where(v > 0), lambda v: v.cumsum("a"), lambda v: v.std("b"), lambda v: v.stack(z=("a", "b")),
        lambda v: xarray.concat([v, v], "a"), lambda v: np.sin(v), lambda v: xarray.dot(v, v), lambda v: v.fillna(0),
        lambda v: v.shift(a=1), lambda v: v.clip(0, 2), lambda v: v.argmax("a"), lambda v: v.diff("a"),
        lambda v: v.coarsen(b=2).mean(), lambda v: 2**v, lambda v: H + v, lambda v: v.copy(deep=True),
        lambda v: xarray.Dataset({"v": v}).mean()["v"], lambda v: v.pad(a=1), lambda v: v.sortby("a", ascending=False),
    ):  # fmt: skip
        same(call(made(nl.asarray(H))).data, call(made(H)).data)
    same((nl.asarray(H) + made(nl.asarray(H))).data, H + H)
    assert made(nl.asarray(H)).equals(made(nl.asarray(H)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_scipy_and_scikit_learn(part: int) -> None:
    if importlib.util.find_spec("sklearn") is None:
        pytest.skip("scikit-learn is not installed")
    script = Path(__file__).parent / "array_api_clients.py"
    found = subprocess.run(
        [sys.executable, str(script), str(part), "4"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert not found.returncode, found.stdout + found.stderr[-2000:]
