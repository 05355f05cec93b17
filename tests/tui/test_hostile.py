"""Nothing strange reaches the terminal: 60 texts that would steer it, through every source of text that the screen has."""

import json
from pathlib import Path

import pytest

from tests.support.hostile.server import answering
from tests.support.hostile.sources import SOURCES, show
from tests.support.hostile.strings import foreign, hostile_strings
from tests.support.hostile.terminal import HostileTerminal
from tests.support.hostile.world import SIZE, Texts, hostile_world, steers

pytestmark = pytest.mark.slow


ALL = hostile_strings(60)
FEW = 8
"""So many where each takes a turn of its own."""

TOGETHER = (
    ("answers", "code", "thoughts", "tools", "outputs", "shell", "todos"),
    ("changes", "files", "pages", "trust"),
    ("lists", "pastes", "prompts", "notes"),
    ("tasks", "permissions", "questions", "failures", "retries", "titles"),
)
"""Each on a screen of its own; they take about as long as one another."""


@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_60_hostile_texts_leave_only_the_drivers_own_sequences(
    names: tuple[str, ...], tmp_path: Path, environ: dict[str, str]
) -> None:
    with hostile_world(tmp_path, environ, Texts(ALL, FEW)) as world:
        for name in names:
            shown = show(world, name)
            assert shown.leaks == [], name
            assert shown.share >= SOURCES[name].least, name
        left = world.leave()
        assert steers(left) == [] and b"opencode-tui -s ses_" in left


def test_a_server_passes_hostile_texts_on_and_none_of_them_steers_the_terminal(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with hostile_world(tmp_path, environ, Texts(ALL, FEW), is_attached=True) as world:
        for name in ("outputs", "titles", "failures"):
            assert show(world, name).leaks == [], name
        left = world.leave()
        assert steers(left) == [] and b"opencode-tui attach http://" in left


@pytest.mark.parametrize("status", [200, 404, 500])
def test_what_is_no_server_of_ours_steers_no_terminal(status: int, tmp_path: Path, environ: dict[str, str]) -> None:
    body = json.dumps({"name": ALL[20], "data": {"message": " ".join(ALL)}, "error": ALL[30]}).encode()
    arguments = ["-m", "opencode_tui", "attach", "--password", "x"]
    with answering(status, body) as address:
        terminal = HostileTerminal([*arguments, address], folder=tmp_path, environ=environ, size=SIZE)
        with terminal:
            assert terminal.ends() == 1
    assert steers(bytes(terminal.raw)) == []


def test_every_source_is_shown() -> None:
    assert sorted(name for names in TOGETHER for name in names) == sorted(SOURCES)


@pytest.mark.parametrize(
    "leak", ["\x1b[7777m", "\x1b[2J", "\x1b]0;x\x07", "a\u202eb", "\x9b5A", "\x1b]8;;x\x1b\\", "\x07", "\r"]
)
def test_a_leak_would_be_seen(leak: str) -> None:
    assert foreign(f"\x1b[1;2H\x1b[31mfine{leak}fine\r\n".encode(), size=SIZE)


@pytest.mark.parametrize(("count", "steering"), [(60, 50), (500, 440)])
def test_the_texts_are_all_different_and_nearly_all_would_steer(count: int, steering: int) -> None:
    texts = hostile_strings(count)
    assert len(set(texts)) == count
    assert sum(bool(foreign(one.encode(), size=SIZE)) for one in texts) > steering
