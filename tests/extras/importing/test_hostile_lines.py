"""Bad lines of Claude Code's and Codex's files: each costs itself, all else is imported, and nothing is sent that cannot be."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.extras.importing.json_lines import LINE_LIMIT_BYTES
from opencode_tui.extras.importing.source import SessionSource
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import ToolPart
from tests.support.importing.agent_sessions import unpack_sessions
from tests.support.importing.desk import Desk

VALUES: tuple[Any, ...] = (
    None, True, -1, 0.5, 10**30, 1e308, "", "\x00", "../../etc/passwd", "x" * 5_000, [], [[]], {}, {"a": {"b": []}},
    [None, 1, "x", {}], {"type": "text", "text": 5}, "2999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", 99**9,
)  # fmt: skip
RAW = (
    b"", b"   ", b"\x00\x00\x00", b"null", b"5", b'"text"', b"[1,2", b"{", b'{"type":"user"', b"\xff\xfe{}", b"NaN", b"[" * 5_000,
    b'{"type":"user","uuid":"u","message":{"role":"user","content":"\\ud800 half"}}', b'{"a":' + b"9" * 5_000 + b"}",
)  # fmt: skip


def spoiled(row: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return a row with one value, at any depth, replaced by one of another kind."""
    copy = json.loads(json.dumps(row))
    here: Any = copy
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return copy
        key = chance.choice(keys)
        if isinstance(here[key], dict | list) and chance.random() < 0.7:
            here = here[key]
            continue
        here[key] = chance.choice(VALUES)
        return copy


def hostile(rows: list[dict[str, Any]], chance: random.Random) -> Iterator[bytes]:
    """Yield 500 lines that no program writes."""
    for number in range(500):
        if number % 5 == 0:
            yield chance.choice(RAW)
        else:
            yield json.dumps(spoiled(chance.choice(rows), chance)).encode()


def mixed(path: Path, seed: int) -> None:
    """Put 500 hostile lines between the lines of a file."""
    chance = random.Random(seed)
    lines = path.read_bytes().splitlines()
    rows = [json.loads(line) for line in lines]
    for bad in hostile(rows, chance):
        lines.insert(chance.randrange(1, len(lines) + 1), bad)
    path.write_bytes(b"\n".join(lines) + b"\n")


def source_of(tool: str, folder: Path) -> SessionSource:
    return ClaudeSource(folder) if tool == "claude" else CodexSource(folder)


def call_ids(messages: Iterable[MessageWithParts]) -> set[str]:
    return {part.call_id for message in messages for part in message.parts if isinstance(part, ToolPart)}


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["claude", "codex"])
@pytest.mark.parametrize("seed", range(4))
def test_hostile_lines_cost_themselves(tmp_path: Path, desk: Desk, tool: str, seed: int):
    """A copy of a line under the same id may take its place, and a row with another parent may begin a conversation of its own."""
    folder = unpack_sessions(tmp_path / "sessions") / tool / "steps"
    plain = source_of(tool, folder)
    before = set[str]().union(*(call_ids(plain.read(found).messages) for found in plain.list()))
    mixed(max(folder.rglob("*.jsonl"), key=lambda path: path.stat().st_size), seed)
    source = source_of(tool, folder)
    found = list(source.list())
    read = [source.read(one) for one in found]
    after = set[str]().union(*(call_ids(session.messages) for session in read))
    assert len(before) > 100 and len(before & after) >= 0.9 * len(before)
    assert sum(len(session.problems) for session in read) >= 50
    report = desk.run_from([source])
    assert report.new == len(found)
    again = desk.run_from([source_of(tool, folder)])
    assert (again.new, again.newer, again.records) == (0, 0, 0)


def test_a_cycle_of_parents_ends(tmp_path: Path):
    path = tmp_path / "-home-user" / "s.jsonl"
    path.parent.mkdir()
    common = {"type": "user", "sessionId": "s", "cwd": "/home/user", "timestamp": "2025-08-01T10:00:00Z"}
    rows = [
        {**common, "uuid": one, "parentUuid": other, "message": {"role": "user", "content": one}}
        for one, other in (("a", "b"), ("b", "a"), ("c", "c"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    [found] = ClaudeSource(tmp_path).list()
    assert len(list(ClaudeSource(tmp_path).read(found).messages)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_a_line_above_the_limit_costs_itself(tmp_path: Path, tool: str):
    folder = unpack_sessions(tmp_path) / tool / "screen"
    path = next(path for path in sorted(folder.rglob("*.jsonl")) if "agent-" not in path.name)
    before = {one.id: len(list(source_of(tool, folder).read(one).messages)) for one in source_of(tool, folder).list()}
    lines = path.read_bytes().splitlines(keepends=True)
    long = b'{"type":"user","message":"' + b"x" * (50 * 1024 * 1024) + b'"}\n'
    assert len(long) > LINE_LIMIT_BYTES
    path.write_bytes(b"".join([*lines, long]))
    source = source_of(tool, folder)
    read = [(one, source.read(one)) for one in source.list()]
    assert {one.id: len(list(session.messages)) for one, session in read} == before
    assert [problem.reason for _, session in read for problem in session.problems if "MB" in problem.reason] == [
        "longer than 32 MB"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path, desk: Desk, tool: str):
    folder = unpack_sessions(tmp_path / "sessions") / tool / ("screen" if tool == "claude" else "steps")
    path = next(path for path in sorted(folder.rglob("*.jsonl")) if "agent-" not in path.name)
    whole = path.read_bytes()
    source = source_of(tool, folder)
    expected = {one.id: [m.to_json() for m in source.read(one).messages] for one in source.list()}
    path.write_bytes(whole[: int(len(whole) * 0.6)])
    first = desk.run_from([source_of(tool, folder)])
    assert first.new >= 1
    path.write_bytes(whole)
    desk.run_from([source_of(tool, folder)])
    again = desk.run_from([source_of(tool, folder)])
    assert (again.new, again.newer, again.records) == (0, 0, 0)
    stored = desk.records()
    for one in source.list():
        texts = [data for name, data in stored.items() if name.startswith("message/") and one.session_id in name]
        assert len(texts) == len(expected[one.id])
