"""The timeline is the same from messages that are read in outline and from whole ones, whatever the records are."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import fields

from opencode_tui.client.facets.session import MessagesFacet
from opencode_tui.engine.session.records import outline
from opencode_tui.engine.session.records.loading import load_named
from opencode_tui.engine.session.records.outline import read_outlines
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.field import REQUIRED
from opencode_tui.schema.record import Record
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import (
    AssistantMessage,
    CacheTokens,
    MessageTime,
    Tokens,
    UserMessage,
    UserSummary,
)
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.part import ReasoningPart, StepFinishPart, StepStartPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolTime
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.tui.pages import timeline_reader
from opencode_tui.tui.pages.timeline_moments import Moments, Seen, id_of, left_to_read
from opencode_tui.tui.pages.timeline_reader import TimelineReader
from tests.support.sessions.records import reasoning, session_info, step_start, text, write_records
from tests.support.sessions.store import open_store
from tests.support.terminal.conversation import ROOT, SESSION, Story, edit
from tests.tui.screens.test_timeline import diff, facts, patch


def talk(turns: int = 1) -> Story:
    """Return turns of each kind that a session has."""
    story = Story()
    for turn in range(turns):
        at, used = f"{10 * turn}", Tokens(input=90_000, output=7, cache=CacheTokens(write=3))
        story.user(f"request {turn}", at, summary=UserSummary(title="t", diffs=[diff("a.py", turn, 1)]))
        waited = story.tool("read", {"filePath": "a"}, "x", seconds=9)
        waited = waited.changed(state=waited.state.changed(time=waited.state.time.changed(waited=4_000, recorded=500)))
        kinds = [step_start(), reasoning("so", metadata={"a": [1]}), "yes", waited]
        story.answer(kinds, at=at, end=f"{at}:20", tokens=used)
        story.answer(
            [story.failed("grep", {"pattern": "x"}, "no", seconds=2)], at=f"{at}:30", end=f"{at}:40", tokens=used
        )
        story.answer([edit(story), patch("docs/b.md")], at=f"{at}:41", end=f"{at}:45")
        story.compaction(f"{at}:50", "the summary", before=90_000, after=3_000)
        story.user("", f"{at}:51").parts[:] = [text("Continue.", synthetic=True)]
        story.answer(["on it"], at=f"{at}:52", tokens=Tokens(input=20_000))
        story.user("", f"{at}:53")
        story.answer([story.tool("bash", {"command": "ls"}, "a.py")], at=f"{at}:53")
        story.user(" two  words\n", f"{at}:54")
        story.answer(["fine\nand more"], at=f"{at}:55", tokens=used)
    return story


def stored(paths: Paths, story: Story) -> list[Path]:
    """Write the session, and return the files of its messages and parts."""
    write_records(paths, session_info(SESSION), story.messages)
    found = [*(paths.storage / "message" / SESSION).iterdir()]
    return sorted(
        [*found, *(file for one in story.messages for file in (paths.storage / "part" / one.info.id).glob("*"))]
    )


def shown(messages: Sequence[Seen]) -> list[object]:
    made = Moments((), root=ROOT)
    made.add(messages)
    return facts(made)


def result(read: Callable[[Storage, Sequence[str]], Sequence[Seen]], storage: Storage, names: Sequence[str]) -> object:
    """Return what the timeline shows, or the error."""
    try:
        return shown(read(storage, names))
    except StorageError as error:
        return str(error)


def named(storage: Storage, names: Sequence[str]) -> list[MessageWithParts]:
    """Return the messages whole, as the client does."""
    found = {one.info.id: one for one in load_named(storage, SESSION, names).messages}
    return [found[one] for one in names if one in found]


def outlined(storage: Storage, names: Sequence[str]) -> list[Seen]:
    """Return the messages as the timeline reads them."""
    found: list[Seen] = [*read_outlines(storage, SESSION, names)]
    for ids in ([one.id for one in found if isinstance(one, OutlinedMessage) and one.is_partial], None):
        wanted = left_to_read(found, ()) if ids is None else ids
        whole = {one.info.id: one for one in named(storage, wanted)}
        found = [whole.get(id_of(one), one) for one in found if id_of(one) not in wanted or id_of(one) in whole]
    return found


def damaged(data: bytes) -> Iterator[bytes]:
    """Yield a record with one thing wrong, or with what a newer or another program may write."""
    yield from (b"", b"\0\0\0", data[:-3], b"[]", b"{}", b"\xef\xbb\xbf" + data, data + b"x")
    yield data.replace(b'": "', b'": "\xff', 1)
    record = json.loads(data)
    yield json.dumps({**record, "unknown": [{"a": 1}]}).encode()
    yield json.dumps({**record, "metadata": {"a": json.loads("[" * 120 + "]" * 120)}}).encode()
    for change in (
        lambda holder, name: holder.pop(name),
        *(
            lambda holder, name, value=value: holder.update({name: value})
            for value in (None, 5, -1, 1.5, 2**63, 2**54, True, "x", "\ud800", "a\0b", [], ["x"], {}, {"a": 1}, DEEP)
        ),
    ):
        for path in paths_in(record):
            yield json.dumps(changed(record, path, change)).encode()


DEEP = json.loads('{"a":' * 120 + "1" + "}" * 120)


def paths_in(record: dict[str, Any], depth: int = 3) -> Iterator[tuple[str, ...]]:
    for name, value in record.items():
        yield (name,)
        if isinstance(value, dict) and depth > 1:
            yield from ((name, *rest) for rest in paths_in(cast("dict[str, Any]", value), depth - 1))


def changed(record: dict[str, Any], path: Sequence[str], change: Callable[[dict[str, Any], str], object]) -> Any:
    copy = json.loads(json.dumps(record))
    holder = copy
    for name in path[:-1]:
        holder = holder[name]
    change(holder, path[-1])
    return copy


EVERY = 11
"""Of how many damages one is tried; all of them take a minute."""


def test_records_of_any_kind_give_the_timeline_that_whole_ones_give(paths: Paths) -> None:
    """Each record of a session in turn is damaged, odd or of another program."""
    story, storage = talk(), Storage(paths)
    files, names = stored(paths, story), [one.info.id for one in story.messages]
    for at, file in enumerate(files):
        data = file.read_bytes()
        for wrong in islice(damaged(data), at % EVERY, None, EVERY):
            file.write_bytes(wrong)
            assert result(outlined, storage, names) == result(named, storage, names), (file, wrong)
        file.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (outline._Request, UserMessage),
        (outline._Answer, AssistantMessage),
        (outline._Text, TextPart),
        (outline._Reasoning, ReasoningPart),
        (outline._StepStart, StepStartPart),
        (outline._StepFinish, StepFinishPart),
        (outline._Call, ToolPart),
        (outline._Completed, ToolStateCompleted),
        (outline._Failed, ToolStateError),
        (outline._CallTime, ToolTime),
        (outline._Time, MessageTime),
        (outline._Tokens, Tokens),
        (outline._Diff, FileDiff),
    ],
)
def test_a_type_of_an_outline_has_fields_of_its_record_and_requires_no_fewer(
    kind: type[Struct], record: type[Record]
) -> None:
    rows = {row.alias: row for row in record.model_fields.values()}
    given = {field.encode_name: field for field in fields(kind)}
    tag = kind.__struct_config__.tag_field
    assert given.keys() <= rows.keys()
    required = {name for name, row in rows.items() if row.default is REQUIRED and row.default_factory is None}
    assert required <= {name for name, field in given.items() if field.required} | {tag}


def test_only_what_an_outline_lacks_is_read_whole(paths: Paths) -> None:
    story = talk()
    stored(paths, story)
    names = [one.info.id for one in story.messages]
    read = read_outlines(Storage(paths), SESSION, [*names, "msg_of_nobody", "../a"])
    assert [one.is_partial for one in read] == [
        *(False, False, False, True),  # a request, two steps and one that changed files
        *(True, True, True, False),  # a compaction's marker, its summary, what the program wrote, a step
        *(True, True, False, False),  # a command of the user and its answer, a request, a step
        *(True, True),
    ]
    request, answer = read[0], read[1]
    assert (request.text, request.diffs) == ("request 0", [("a.py", 0, 1)])
    start = answer.created
    assert (answer.tokens, answer.context, answer.completed - start) == (90_010, 90_007, 20_000)
    assert [(waited - begun, end - begun) for begun, waited, end in answer.calls] == [(3_500, 9_000)]


@pytest.mark.parametrize("group", [1, 2, 3, 7, 100])
async def test_groups_of_messages_in_outline_give_the_timeline_that_whole_ones_give(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    """Also those of a session that is in memory, with what is not on the disk yet."""
    story = talk(3)
    stored(paths, story)
    monkeypatch.setattr(timeline_reader, "FIRST", group)
    monkeypatch.setattr(timeline_reader, "GROUP", group)
    async with open_store(paths) as opened:
        for is_open in (False, True):
            if is_open:
                await opened.store.messages(SESSION)
                part = story.messages[-1].parts[0]
                assert isinstance(part, TextPart)
                async with opened.store.locked(SESSION) as writer:
                    writer.end_part(part.changed(text="late"))
                story.messages[-1].parts[0] = part.changed(text="late")
            reader = TimelineReader(cast("MessagesFacet", opened.store), SESSION, (), root=ROOT)
            await reader.start()
            while reader.left:
                await reader.read_older()
            assert facts(reader._moments) == shown(story.messages)
            assert ("late" in str(facts(reader._moments))) is is_open
