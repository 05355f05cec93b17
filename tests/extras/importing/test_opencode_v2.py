"""Stores that the engine of OpenCode 2 wrote, alone and behind OpenCode 1: all that was said is here once, in its order."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.extras.importing.opencode_json import OpenCodeJson
from opencode_tui.extras.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.extras.importing.opencode_v2 import V2Row, V2Session
from opencode_tui.extras.importing.source import Problem
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AgentPart, CompactionPart, FilePart, PatchPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.extras.importing.test_continued import check_next_request
from tests.support.importing.desk import Desk
from tests.support.importing.fixtures import PROJECT, unpack

PREVIEW, BOTH, REVERTS = "2-preview", "1.18.33-then-2", "2-preview-reverts"


def read(data: Path) -> dict[str, list[MessageWithParts]]:
    """Return the messages of all sessions of a database by their title."""
    source = OpenCodeSqlite(data / "opencode.db")
    try:
        found = {one.title: list(source.read(one).messages) for one in source.list()}
        assert source.problems == []
        return found
    finally:
        source.close()


def said(messages: list[MessageWithParts]) -> list[str]:
    """Return what the user said, in order."""
    return [
        part.text
        for message in messages
        if isinstance(message.info, UserMessage)
        for part in message.parts
        if isinstance(part, TextPart) and not part.synthetic
    ]


def rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(data / "opencode.db") as database:
        found = database.execute(query).fetchall()
    database.close()
    return found


def there(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the words of all that the tables of OpenCode 2 hold."""
    for kind, text in rows(data, "SELECT type, data FROM session_message"):
        value = json.loads(text)
        if kind == "user":
            yield "request", value["text"]
        for item in value.get("content", []):
            if item["type"] == "tool":
                yield "call", item["id"]
            elif item["text"]:
                yield item["type"], item["text"]
    known = {one for (one,) in rows(data, "SELECT id FROM session_message")}
    for name, prompt in rows(data, "SELECT id, prompt FROM session_input"):
        if name not in known:
            yield "request", json.loads(prompt)["text"]


def here(desk: Desk) -> Iterator[tuple[str, str]]:
    records = {path: json.loads(data) for path, data in desk.records().items()}
    users = {one["id"] for path, one in records.items() if path.startswith("message/") and one["role"] == "user"}
    for path, one in records.items():
        if not path.startswith("part/"):
            continue
        if one["type"] == "tool":
            yield "call", one["callID"]
        elif one["type"] in ("text", "reasoning"):
            yield "request" if one["messageID"] in users else one["type"], one["text"]


def test_all_that_a_real_store_holds_is_imported_once(desk: Desk, tmp_path: Path):
    data = unpack(PREVIEW, tmp_path / "opencode")
    report = desk.run(data)
    assert report.new == 3
    assert report.problems == []
    expected = Counter(there(data))
    assert sum(expected.values()) > 25
    assert Counter(here(desk)) == expected


def test_staged_and_committed_undos_waiting_requests_and_a_killed_turn_are_as_the_tables_hold_them(
    desk: Desk, tmp_path: Path
):
    data = unpack(REVERTS, tmp_path / "opencode")
    report = desk.run(data)
    assert (report.new, report.problems) == (4, [])
    assert Counter(here(desk)) == Counter(there(data))
    words = {title.partition(" ")[0]: said(messages) for title, messages in read(data).items()}
    assert [text.partition(" <<")[0] for text in words["staged"]] == ["staged one", "staged two"]
    assert [text.partition(" <<")[0] for text in words["committed"]] == [
        "committed one",
        "committed two",
        "after the commit",
    ]
    assert words["cleared"][-1] == "cleared unread"
    for title, messages in read(data).items():
        check_next_request(title, messages)
    assert desk.run(data).new == 0


def test_a_second_import_changes_nothing_and_a_later_one_adds_what_is_new(desk: Desk, tmp_path: Path):
    data = unpack(PREVIEW, tmp_path / "opencode")
    desk.run(data)
    before = desk.records()
    assert desk.run(data).new == 0
    assert desk.records() == before
    session = rows(data, "SELECT session_id FROM session_message ORDER BY time_created DESC LIMIT 1")[0][0]
    now = rows(data, "SELECT max(time_created) FROM session_message")[0][0] + 60_000
    with sqlite3.connect(data / "opencode.db") as database:
        more = json.dumps({"text": "said later", "time": {"created": now}})
        message = "msg_20c000000001aaaaaaaaaaaaaa"
        database.execute(
            "INSERT INTO session_message VALUES (?, ?, 'user', 9000, ?, ?, ?)", (message, session, now, now, more)
        )
    database.close()
    report = desk.run(data)
    assert (report.newer, report.problems) == (1, [])
    after = desk.records()
    added = {path: record for path, record in after.items() if path not in before}
    assert sorted(path.split("/")[0] for path in added) == ["message", "part"]
    changed = [path for path, record in before.items() if after[path] != record]
    assert [path.split("/")[0] for path in changed] == ["session"]


def test_requests_stand_where_they_were_written_and_each_answer_names_its_own(tmp_path: Path):
    sessions = read(unpack(PREVIEW, tmp_path / "opencode"))
    messages = sessions["greet <<words 5>> <<reason because>>"]
    assert said(messages)[-4:] == [
        "long <<slow 100>> <<words 60>>",
        "queued behind",
        "steered in",
        "in plan <<words 2>>",
    ]
    requests = {message.info.id: said([message]) for message in messages if isinstance(message.info, UserMessage)}
    answered = {
        requests[message.info.parent_id][0]: [part.text for part in message.parts if isinstance(part, TextPart)]
        for message in messages
        if isinstance(message.info, AssistantMessage)
    }
    assert answered["queued behind"] == ["Echo: queued behind"]
    assert answered["steered in"] == ["Echo: steered in"]
    assert said(sessions["interrupted <<slow 200>> <<words 80>>"])[-1] == "never read"
    for messages in sessions.values():
        names = [message.info.id for message in messages]
        assert names == sorted(set(names))


def test_what_both_versions_said_in_a_session_is_one_conversation(desk: Desk, tmp_path: Path):
    data = unpack(BOTH, tmp_path / "opencode")
    both = read(data)
    (title,) = (title for title, messages in both.items() if "and now in v2" in " ".join(said(messages)))
    alone = unpack(BOTH, tmp_path / "alone")
    with sqlite3.connect(alone / "opencode.db") as database:
        database.execute("DELETE FROM session_message")
        database.execute("DELETE FROM session_input")
    database.close()
    older = read(alone)
    assert both.keys() == older.keys()
    assert both[title][: len(older[title])] == older[title]
    assert len(both[title]) == len(older[title]) + 3
    assert desk.run(alone).new == len(older)
    report = desk.run(data)
    assert (report.new, report.newer) == (0, 1)


def test_the_next_request_of_each_session_is_one_that_providers_accept(tmp_path: Path):
    checked = 0
    for name in (PREVIEW, BOTH):
        for title, messages in read(unpack(name, tmp_path / name)).items():
            check_next_request(title, messages)
            checked += 1
    assert checked == 5


def test_a_call_has_our_names_its_output_and_its_times(tmp_path: Path):
    messages = read(unpack(PREVIEW, tmp_path / "opencode"))["greet <<words 5>> <<reason because>>"]
    calls = {part.tool: part for message in messages for part in message.parts if isinstance(part, ToolPart)}
    write, edit, bash = calls["write"].state, calls["edit"].state, calls["bash"].state
    assert isinstance(write, ToolStateCompleted)
    assert isinstance(edit, ToolStateCompleted)
    assert isinstance(bash, ToolStateCompleted)
    assert write.input == {"filePath": "d.txt", "content": "1\n2\n"}
    assert "+one" in edit.metadata["diff"]
    assert bash.output.startswith("from bash\n")
    assert bash.time.end is not None
    assert bash.time.end >= bash.time.start
    reads = [
        part.state
        for message in messages
        for part in message.parts
        if isinstance(part, ToolPart) and part.tool == "read"
    ]
    assert isinstance(reads[0], ToolStateCompleted)
    assert reads[0].output == "one\n2\n"
    assert isinstance(reads[1], ToolStateError)
    assert reads[1].error == "Unable to read nope.txt"


def test_files_of_a_session_below_the_work_tree_are_those_of_the_work_tree(tmp_path: Path):
    sessions = read(unpack(PREVIEW, tmp_path / "opencode"))
    (below,) = (messages for title, messages in sessions.items() if title.startswith("below"))
    patches = [part for message in below for part in message.parts if isinstance(part, PatchPart)]
    assert [part.files for part in patches] == [[f"{PROJECT}/sub/in_sub.txt"]]
    steps = [message.info for message in below if isinstance(message.info, AssistantMessage)]
    assert {(step.path.cwd, step.path.root) for step in steps} == {(f"{PROJECT}/sub", PROJECT)}
    attached = [part for message in below for part in message.parts if isinstance(part, FilePart | AgentPart)]
    assert [part.source is not None for part in attached] == [True, True]


def test_agent_and_model_are_those_of_the_answer_or_of_the_switch_before(tmp_path: Path):
    messages = read(unpack(PREVIEW, tmp_path / "opencode"))["greet <<words 5>> <<reason because>>"]
    users = [message.info for message in messages if isinstance(message.info, UserMessage)]
    assert [one.agent for one in users[:-1]] == ["build"] * (len(users) - 1)
    assert (users[-1].agent, users[-1].variant) == ("plan", "high")
    assert {one.model.provider_id for one in users} == {"fake"}


def session_of(made: list[V2Row], problems: list[Problem] | None = None) -> list[MessageWithParts]:
    """Return the messages of rows that no real store has."""
    given: list[Problem] = [] if problems is None else problems
    session = V2Session("ses_1", folder="/p", root="/p", agent=None, model=None, path="db", problems=given)
    return list(session.messages(made))


def row(kind: str, at: int, **data: Any) -> V2Row:
    created = 1_795_000_000_000 + at
    return V2Row(f"msg_{created * 4096 & (1 << 48) - 1:012x}{at:014d}", kind, created, json.dumps(data))


ANSWER = {
    "agent": "plan",
    "model": {"id": "m", "providerID": "p"},
    "content": [{"type": "text", "id": "1", "text": "yes"}],
}


def test_kinds_of_messages_that_the_preview_documents_but_does_not_write():
    messages = session_of(
        [
            row("user", 1, text="look"),
            row("shell", 2, callID="call_1", command="ls", output="a.txt\n"),
            row("synthetic", 3, sessionID="ses_1", text="a note"),
            row("system", 4, text="the date is another one"),
            row("compaction", 5, reason="auto", summary="what was done", recent="the last words"),
            row("assistant", 6, **ANSWER),
        ]
    )
    shown = [(message.info.role, [part.type for part in message.parts]) for message in messages]
    assert shown == [
        ("user", ["text"]),
        ("user", ["text"]),
        ("assistant", ["tool"]),
        ("user", ["text"]),
        ("user", ["compaction"]),
        ("assistant", ["text", "text"]),
        ("assistant", ["step-start", "text"]),
    ]
    shell = messages[2].parts[0]
    assert isinstance(shell, ToolPart)
    assert isinstance(shell.state, ToolStateCompleted)
    assert (shell.tool, shell.state.input, shell.state.output) == ("bash", {"command": "ls"}, "a.txt\n")
    marker = messages[4].parts[0]
    assert isinstance(marker, CompactionPart)
    assert marker.auto
    summary = messages[5].info
    assert isinstance(summary, AssistantMessage)
    assert summary.summary
    check_next_request("kinds", messages)


def test_a_damaged_row_or_content_costs_itself():
    problems: list[Problem] = []
    content = [{"type": "text", "text": "kept"}, {"type": "tool"}, {"type": "unheard"}, {"type": "text", "text": 5}]
    messages = session_of(
        [
            V2Row("msg_20b000000001aaaaaaaaaaaaaa", "user", 1, "{"),
            V2Row("msg_20b000000002aaaaaaaaaaaaaa", "user", 1, "[]"),
            V2Row("../../x", "user", 1, '{"text": "id"}'),
            row("unheard", 2),
            row("assistant", 3, agent="build"),
            row("user", 4, text="kept too"),
            row("assistant", 5, **{**ANSWER, "content": content}),
            V2Row("msg_20b000000009aaaaaaaaaaaaaa", "user", 1, "[" * 100_000),
        ],
        problems,
    )
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    assert texts == ["id", "kept too", "kept"]
    assert "/" not in "".join(message.info.id for message in messages)
    assert len(problems) == 8


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "shell", "compaction"]), st.integers(0, 50)), max_size=12)
)
def test_a_message_stays_what_it_is_whatever_comes_before_and_behind_it(made: list[tuple[str, int]]):
    data: dict[str, dict[str, Any]] = {
        "user": {"text": "u"},
        "assistant": ANSWER,
        "shell": {"callID": "c", "command": "ls", "output": ""},
        "compaction": {"summary": "s"},
    }
    given_rows = [row(kind, at * 100 + number, **data[kind]) for number, (kind, at) in enumerate(made)]
    whole = {message.info.id: message.parts for message in session_of(given_rows)}
    assert len(whole) == sum(2 if kind in ("shell", "compaction") else 1 for kind, _ in made)
    parts = [[part.id for part in message] for message in whole.values()]
    assert [sorted(set(names)) for names in parts] == parts
    moved = {message.info.id: message.parts for message in session_of(list(reversed(given_rows)))}
    assert moved == whole
    begun = {message.info.id: message.parts for message in session_of(given_rows[: len(given_rows) // 2])}
    assert begun == {name: whole[name] for name in begun}


def test_what_a_half_migrated_store_has_only_in_the_older_tables_is_taken_from_there_and_named(tmp_path: Path):
    data = unpack(BOTH, tmp_path / "opencode")
    source = OpenCodeSqlite(data / "opencode.db")
    try:
        left = source.left_behind()
        assert len(left) == 1
        found = {one.title: one for one in source.list()}
        assert len(found) == 2
        assert len(said(list(source.read(found[left[0]]).messages))) == 1
    finally:
        source.close()
    whole = OpenCodeSqlite(unpack("1.18.33", tmp_path / "one") / "opencode.db")
    assert whole.left_behind() == []
    whole.close()


@pytest.mark.slow
def test_sessions_of_a_folder_that_no_database_beside_it_has_are_named_and_imported(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", unpack(PREVIEW, tmp_path / "opencode"))
    folder, database = desk.sources.open(None, data)
    assert isinstance(folder, OpenCodeJson) and isinstance(database, OpenCodeSqlite)
    older = [one.title for one in folder.list()]
    assert sorted(folder.titles_besides(database.ids())) == sorted(older)
    assert folder.titles_besides({one.id for one in folder.list()}) == []
    newer = len(database.ids())
    folder.close()
    database.close()
    report = desk.run(data)
    assert (report.new, report.problems) == (len(older) + newer, [])
    assert desk.run(data).new == 0
