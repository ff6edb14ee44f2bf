"""Settings and errors."""

import pickle

import pytest

from numloom.base.config import SETTINGS, Config, variable
from numloom.base.errors import CompileError, MissingDependencyError, OutOfMemoryError


def test_defaults_and_attributes():
    config = Config({})
    assert (config.eager, config.device, config.cpu_compile, config.max_pending) == (False, "auto", "background", 512)
    for name in SETTINGS:
        assert f"{name} = {getattr(config, name)!r}" in repr(config)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("eager", "1", True),
        ("eager", "off", False),
        ("device", "cuda:3", "cuda:3"),
        ("cpu_compile", "never", "never"),
        ("num_threads", "4", 4),
        ("cache_bytes", "1.5G", 3 << 29),
        ("cache_bytes", "64 MiB", 64 << 20),
        ("memory_limit", "1000", 1000),
        ("cache_dir", "/somewhere", "/somewhere"),
    ],
)
def test_environment(name, text, value):
    assert getattr(Config({variable(name): text}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eager", "perhaps"),
        ("eager", 2),
        ("device", "tpu"),
        ("device", "cpu:1"),
        ("cpu_compile", "later"),
        ("num_threads", -1),
        ("num_threads", 1.5),
        ("max_pending", True),
        ("cache_bytes", "much"),
        ("cache_dir", "relative/path"),
    ],
)
def test_bad_values(name, value):
    config = Config({})
    before = getattr(config, name)
    with pytest.raises(ValueError, match=f"config.{name}"):
        setattr(config, name, value)
    assert getattr(config, name) == before
    with pytest.warns(RuntimeWarning, match=variable(name)):
        assert getattr(Config({variable(name): str(value)}), name) == before


def test_unknown_settings():
    with pytest.raises(AttributeError, match="eager"):
        Config({}).eagre = True


def test_block_and_listeners():
    config = Config({})
    heard = []
    config.listen("max_pending", heard.append)
    with config(max_pending=3, eager=True):
        assert config.max_pending == 3 and config.eager
    assert config.max_pending == 512 and not config.eager and heard == [3, 512]


def test_a_listener_may_refuse():
    config = Config({})

    def refuse(value):
        raise RuntimeError

    config.listen("device", refuse)
    with pytest.raises(RuntimeError):
        config.device = "cuda"
    assert config.device == "auto"


def test_errors_name_things_and_pickle():
    memory = OutOfMemoryError("cuda", 3 << 30, 1 << 20, 512, 1 << 31)
    assert all(part in str(memory) for part in ("cuda", "3.0 GiB", "1.0 MiB in use", "512 B cached", "limit 2.0 GiB"))
    missing = MissingDependencyError("no compiler", "install one")
    assert str(missing) == "no compiler: install one"
    text = "one\ntwo\nthree\nfour\nfive\n"
    for error in (memory, missing, CompileError("g++", text, "x.cpp:2:1: error: bad")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)


@pytest.mark.parametrize(
    "log",
    ["/tmp/k.cpp:3:7: error: bad word\n", "k.cu(3): error: bad word\n", "note\nk.cu(3): catastrophic error: bad word"],
)
def test_compile_errors_show_the_line(log):
    message = str(CompileError("compiler", "one\ntwo\nthree\nfour\nfive\nsix", log))
    assert "line 3: bad word" in message and ">     3 | three" in message
    assert "one" in message and "five" in message and "six" not in message


def test_compile_errors_without_a_line():
    assert "killed" in str(CompileError("compiler", "text", "killed"))


def test_a_compile_error_is_made_anew_of_its_message() -> None:
    """As frameworks of tests do, to say more than an error does."""
    error = CompileError("g++", "one\ntwo", "x.cpp:2:1: error: bad")
    again = type(error)(f"with these parameters: {error}")
    assert str(again) == f"with these parameters: {error}"
    assert str(pickle.loads(pickle.dumps(again))) == str(again)
