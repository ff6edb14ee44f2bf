"""Threads of ours have a stack of a size of their own."""

from __future__ import annotations

import threading

import pytest

from numloom.base.threads import STACK, begin


def deep(levels: int) -> int:
    return 0 if levels == 0 else 1 + max([levels - 1], key=lambda one: deep(one)) - levels + 1


def test_the_programs_setting_is_as_before_and_not_ours() -> None:
    sizes: list[int] = []
    before = threading.stack_size(96 << 10)
    try:
        thread = threading.Thread(target=lambda: sizes.append(deep(200)))
        begin(thread)
        thread.join()
        assert threading.stack_size() == 96 << 10 and len(sizes) == 1
    finally:
        threading.stack_size(before)
    assert STACK >= 1 << 20


def test_a_thread_that_cannot_be_started_leaves_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = threading.Thread(target=int)

    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread, "start", refuse)
    before = threading.stack_size()
    with pytest.raises(RuntimeError, match="start new thread"):
        begin(thread)
    assert threading.stack_size() == before
