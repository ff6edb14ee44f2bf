"""The demo runs, its answers agree, its pictures are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numloom.command import demo as module
from numloom.command.main import main
from numloom.device import registry

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")


@pytest.mark.slow
def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--quick", "--output", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "logistic_digits.png", "quantize_china.png", "heat_elevation.png",
    }  # fmt: skip
    out = capsys.readouterr().out
    assert registry.current().name in out
    assert "heat_elevation.png" in out


def test_demo_fails_where_answers_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = module.heat_elevation
    monkeypatch.setattr(example, "agree", lambda a, b: (False, "made to differ"))
    assert module.demo(tmp_path, quick=True, examples=(example,)) == 1


def test_a_missing_device_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if registry.missing("cuda") is None:
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--device", "cuda", "--output", str(tmp_path)])
    assert stop.value.code == 2
    assert "cuda" in capsys.readouterr().err


def test_a_missing_library_is_said_with_its_cure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["demo", "--output", str(tmp_path)])
    assert "pip install 'numloom[demo]'" in capsys.readouterr().err


def test_examples_tell_agreement_from_difference() -> None:
    for example in module.EXAMPLES:
        inputs = example.load()
        result = {name: np.asarray(value) for name, value in example.run(np, range(2), **inputs).items()}
        assert example.agree(result, result)[0]
        name = next(name for name in ("weights", "centres", "heights") if name in result)
        assert not example.agree(result, {**result, name: result[name] * 1.1})[0]
