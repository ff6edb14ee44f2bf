"""Examples that learn, functions that come and go, and the default float."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import matrix, vector
from numloom.device.registry import current

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "compiled"


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("logistic_sgd", "lstm_digits", "mlp_digits", "rbm_digits"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_a_network_with_dropout_and_momentum_learns_digits(examples: None) -> None:
    import mlp_digits

    assert mlp_digits.main(epochs=8) > 0.93


@pytest.mark.slow
def test_a_boltzmann_machine_learns_digits(examples: None) -> None:
    import rbm_digits

    error, right = rbm_digits.main(epochs=5)
    assert error < 0.09 and right > 0.7


def test_logistic_regression_learns_from_minibatches_of_shared_data(
    examples: None, capsys: pytest.CaptureFixture[str]
) -> None:
    import logistic_sgd

    assert logistic_sgd.main(epochs=30, profile=True) > 0.93
    shown = capsys.readouterr().out
    assert "train:" in shown and "420 calls" in shown


@pytest.mark.slow
def test_an_lstm_learns_to_read_digits_row_by_row(examples: None, capsys: pytest.CaptureFixture[str]) -> None:
    import lstm_digits

    assert lstm_digits.main(epochs=5, profile=True) > 0.85
    shown = capsys.readouterr().out
    assert "learn:" in shown and "70 calls" in shown


def test_functions_that_are_dropped_leave_nothing() -> None:
    v = nl.asarray(np.ones(64))

    def use(number: int) -> None:
        w, x = nl.shared(np.ones(64), "w"), nl.symbol("x", (64,))
        function = nl.function([x], nl.exp(x * w) + float(number), updates=[(w, w + x.sum() * 0.1)])
        function(v)
        function(v)

    def counted() -> tuple[int, int]:
        gc.collect()
        return len(gc.get_objects()), current().pool.used

    for number in range(40):
        use(number)
    objects, used = counted()
    for number in range(40, 240):
        use(number)
    more, after = counted()
    assert after <= used and more < objects + 100  # Less, where other tests' loops let go meanwhile.


def test_the_default_float_is_that_of_symbols_and_python_floats() -> None:
    assert nl.symbol("x", (2,)).dtype == np.float64
    with nl.config(default_float="float32"):
        x, w = nl.symbol("x", (2,)), nl.shared([1.0, 2.0], "w")
        assert x.dtype == w.dtype == np.float32
        assert matrix("m").dtype == vector("v").dtype == np.float32
        assert nl.symbol("n", (), "i4").dtype == np.int32 and nl.symbol("d", (), "f8").dtype == np.float64
        assert nl.shared(np.ones(2), "of NumPy").dtype == np.float64 and nl.shared([1, 2], "whole").dtype == np.int64
        step = nl.function([x], 0.5 * x * w, updates=[(w, w - 0.1 * x)])
    assert step([1, 2]).dtype == np.float32 and w.get_value().dtype == np.float32
    with pytest.raises(ValueError, match="default_float"):
        nl.config.default_float = "int8"
