"""Nothing strange reaches the terminal: 500 texts that would steer it, through every source of text that the screen has."""

from pathlib import Path

import pytest

from tests.support.hostile import foreign, hostile_strings
from tests.support.hostile_world import SIZE, HostileWorld, hostile_world

ALL = hostile_strings(500)
FEW = ALL[::100]
"""For what takes a turn or a question each; `python -m tests.benchmarks stress_hostile` takes all of them there too."""

AT_ONCE = (
    ("answers", "code", "thoughts"),
    ("outputs", "shell", "todos"),
    ("changes", "files"),
    ("lists", "pages", "pastes"),
)
ONE_BY_ONE = (("tools", "titles"), ("questions", "retries"), ("tasks", "failures"), ("permissions",))


def show(world: HostileWorld, names: tuple[str, ...]) -> None:
    sources = world.sources()
    for name in names:
        sources[name]()
        assert world.foreign() == [], name


@pytest.mark.parametrize("names", AT_ONCE, ids="-".join)
def test_500_hostile_texts_leave_only_the_drivers_own_sequences(
    names: tuple[str, ...], tmp_path: Path, environ: dict[str, str]
) -> None:
    with hostile_world(tmp_path, environ, ALL) as world:
        show(world, names)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("names", ONE_BY_ONE, ids="-".join)
def test_hostile_texts_one_by_one_leave_only_the_drivers_own_sequences(
    names: tuple[str, ...], tmp_path: Path, environ: dict[str, str]
) -> None:
    with hostile_world(tmp_path, environ, FEW) as world:
        show(world, names)


def test_every_source_is_shown() -> None:
    named = {name for names in (*AT_ONCE, *ONE_BY_ONE) for name in names}
    assert named == set(HostileWorld.sources.__get__(object.__new__(HostileWorld))())


@pytest.mark.parametrize(
    "leak", ["\x1b[7777m", "\x1b[2J", "\x1b]0;x\x07", "a\u202eb", "\x9b5A", "\x1b]8;;x\x1b\\", "\x07", "\r"]
)
def test_a_leak_would_be_seen(leak: str) -> None:
    assert foreign(f"\x1b[1;2H\x1b[31mfine{leak}fine\r\n".encode(), size=SIZE)


def test_the_500_are_all_different_and_nearly_all_would_steer() -> None:
    assert len(set(ALL)) == 500
    assert sum(bool(foreign(one.encode(), size=SIZE)) for one in ALL) > 440
