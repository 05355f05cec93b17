"""Values that are made on first use."""

import threading

import pytest

from opencode_tui.engine.lazy import Lazy


def test_a_value_is_made_once_and_not_before_its_first_use() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    lazy = Lazy(make)
    assert (lazy.made, made) == (None, [])
    assert lazy.get() is lazy.get() is lazy.made
    assert len(made) == 1


def test_a_value_that_could_not_be_made_is_tried_again() -> None:
    failures = [OSError("not yet")]

    def make() -> str:
        if failures:
            raise failures.pop()
        return "value"

    lazy = Lazy(make)
    with pytest.raises(OSError, match="not yet"):
        lazy.get()
    assert lazy.made is None
    assert lazy.get() == "value"


def test_threads_that_ask_at_once_get_one_value() -> None:
    making, may_end = threading.Event(), threading.Event()
    values: list[object] = []

    def make() -> object:
        making.set()
        may_end.wait()
        return object()

    lazy = Lazy(make)
    threads = [threading.Thread(target=lambda: values.append(lazy.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    making.wait()
    may_end.set()
    for thread in threads:
        thread.join()
    assert len(values) == 4
    assert len(set(map(id, values))) == 1
