"""One turn on a terminal shows 500 texts with control sequences: answers, reasoning, tools, output, failures."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hostile.strings import hostile_strings, steering
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


ALL = hostile_strings(500)
TEXT = "\n".join(ALL)
CALLS = (
    *(Call(one, {one: one}) for one in ALL[::5]),
    *(Call("read", {"filePath": one}) for one in ALL[1::5]),
    Call("bash", {"command": "cat out.txt; exit 3", "description": TEXT}),
)
TURNS = {
    "said": (Answer(reasoning=TEXT, text=TEXT, delta_size=7),),
    "tools": (Answer(calls=CALLS[:101]), Answer(calls=CALLS[101:]), Answer(text="tried")),
    "failures": (failure(418, " ".join(ALL), kind=ALL[0]),),
}
LEAST = {"said": 480, "tools": 150, "failures": 5}
"""Texts that can be read of it."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_of_hostile_texts_steers_no_terminal(
    name: str, server: ModelServer, tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "out.txt").write_text(TEXT, "utf-8", "surrogateescape")
    line = CommandLine(tmp_path, {**environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}, provider=server.config())
    server.script(*TURNS[name])
    arguments = ["-m", "opencode_tui", "run", "-m", line.model, "go on"]
    with Terminal(arguments, folder=tmp_path, environ=line.variables()) as terminal:
        terminal.wait()
    shown = terminal.text.replace("\r\x1b[2K", "")
    lone = re.search(r"\r(?!\n)", shown)
    assert steering(shown) == [], shown[max(0, lone.start() - 200) : lone.start() + 200] if lone else ""
    assert len({*re.findall(r"w\d+", terminal.text)}) > LEAST[name]
