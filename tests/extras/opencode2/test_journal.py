"""The order of a session's events: which events records stand for, and the file that keeps their numbers."""

import asyncio
import fcntl
import os
import signal
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from opencode_tui.extras.opencode2 import entries as names
from opencode_tui.extras.opencode2 import journal as journal_module
from opencode_tui.extras.opencode2.discovery import ADDRESS, PASSWORD, choose_password, registered
from opencode_tui.extras.opencode2.entries import Entry, entries_of
from opencode_tui.extras.opencode2.journal import Journal
from opencode_tui.schema.error import ConfigError, LockTimeoutError
from opencode_tui.schema.session.history import MessageWithParts
from tests.support.opencode2.client import Newer, kinds, numbers

SESSION = "ses_0123456789abcdefghijklmnop"


def answer(*parts: Mapping[str, object], completed: int | None = None) -> MessageWithParts:
    own = {"id": "msg_1", "sessionID": SESSION}
    time = {"created": 5} if completed is None else {"created": 5, "completed": completed}
    info = {**own, "role": "assistant", "parentID": "msg_0", "modelID": "m", "providerID": "p", "mode": "build"}
    places = {"path": {"cwd": "/w", "root": "/w"}, "time": time}
    listed = [{"id": f"prt_{at}", "sessionID": SESSION, "messageID": "msg_1", **part} for at, part in enumerate(parts)]
    return MessageWithParts.model_validate({"info": {**info, **places}, "parts": listed})


def test_a_record_that_has_grown_gives_the_same_entries_and_more():
    text = {"type": "text", "text": "a", "time": {"start": 6}}
    ended = {**text, "time": {"start": 6, "end": 7}}
    call = {"type": "tool", "callID": "c", "tool": "read"}
    done = {**call, "state": {"status": "completed", "input": {}, "output": "", "time": {"start": 8, "end": 9}}}
    states = [
        answer(),
        answer(text),
        answer(ended),
        answer(ended, {**call, "state": {"status": "pending", "input": {}, "raw": ""}}),
        answer(ended, {**call, "state": {"status": "running", "input": {}, "time": {"start": 8}}}),
        answer(ended, done),
        answer(ended, done, completed=10),
    ]
    told = [[(entry.kind, entry.part) for entry in entries_of(state)] for state in states]
    assert [later for earlier, later in pairwise(told) if later[: len(earlier)] != earlier] == []
    assert [len(one) for one in told] == [0, 2, 3, 4, 6, 7, 8]
    assert told[-1][-1] == (names.STEP_ENDED, "")


async def test_what_two_processes_append_has_each_entry_once_in_one_order(tmp_path: Path):
    one, other = Journal(tmp_path, SESSION), Journal(tmp_path, SESSION)
    first, second = Entry(names.ADMITTED, 1, "msg_1"), Entry(names.PROMPTED, 2, "msg_1")
    assert [seq for seq, _ in await one.extend([first])] == [1]
    assert [(seq, entry.kind) for seq, entry in await other.extend([first, second])] == [
        (1, first.kind),
        (2, second.kind),
    ]
    assert [seq for seq, _ in await one.extend([second, Entry(names.CLEARED, 3, data={}), second])] == [2, 3]
    again = Journal(tmp_path, SESSION)
    await again.load()
    assert again.entries == one.entries and again.after(1) == [(2, second), (3, one.entries[2])]
    assert (tmp_path / f"{SESSION}.log").stat().st_mode & 0o777 == 0o600


async def test_half_a_line_was_never_sent_and_is_removed(tmp_path: Path):
    journal = Journal(tmp_path, SESSION)
    await journal.extend([Entry(names.ADMITTED, 1, "msg_1")])
    file = tmp_path / f"{SESSION}.log"
    whole = file.read_bytes()
    file.write_bytes(whole + b'["prompt.adm')
    again = Journal(tmp_path, SESSION)
    assert [seq for seq, _ in await again.extend([Entry(names.ADMITTED, 2, "msg_2")])] == [1, 2]
    assert file.read_bytes().startswith(whole) and file.read_bytes().count(b"\n") == 2
    file.write_bytes(whole + b"damaged\n" + file.read_bytes()[len(whole) :])
    damaged = Journal(tmp_path, SESSION)
    await damaged.load()
    assert [(seq, entry.message) for seq, entry in damaged.after(0)] == [(1, "msg_1"), (3, "msg_2")]


async def test_a_queued_prompt_keeps_the_id_under_which_it_was_admitted(tmp_path: Path):
    journal = Journal(tmp_path, SESSION)
    await journal.extend([Entry(names.ADMITTED, 1, "msg_old"), Entry(names.ADMITTED, 2, "msg_other")])
    await journal.extend([Entry(names.PROMPTED, 3, "msg_new", data={names.OLD_ID: "msg_old"})])
    assert journal.ids == {"msg_new": "msg_old"} and journal.stored_id("msg_old") == "msg_new"
    assert journal.waiting == ["msg_other"]


def held(path: Path) -> int:
    """Return the id of another process that has the lock of a file until it is killed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
        os.write(write, b".")
        signal.pause()
    os.read(read, 1)
    return pid


async def test_a_journal_that_another_process_has_keeps_no_other_work_waiting(tmp_path: Path):
    """The loop of the test goes on, and ends that process."""
    holder = held(tmp_path / f"{SESSION}.log")
    journal = Journal(tmp_path, SESSION)
    appending = asyncio.create_task(journal.extend([Entry(names.ADMITTED, 1, "msg_1")]))
    done, _ = await asyncio.wait({appending}, timeout=0.05)
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    assert not done
    assert [seq for seq, _ in await appending] == [1]


async def test_a_journal_that_stays_locked_is_named_with_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_module, "LOCK_S", 0.02)
    file = tmp_path / f"{SESSION}.log"
    holder = held(file)
    try:
        with pytest.raises(LockTimeoutError, match=rf"{SESSION}\.log has been held by .*{holder}"):
            await Journal(tmp_path, SESSION).extend([Entry(names.ADMITTED, 1, "msg_1")])
        assert file.read_bytes() == b""
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)


async def test_what_was_read_is_not_read_again(tmp_path: Path):
    """Its bytes may even change: the numbers of its lines stay."""
    one, other = Journal(tmp_path, SESSION), Journal(tmp_path, SESSION)
    await one.extend([Entry(names.ADMITTED, 1, "msg_1")])
    file = tmp_path / f"{SESSION}.log"
    file.write_bytes(b"x" * (file.stat().st_size - 1) + b"\n")
    await other.extend([Entry(names.ADMITTED, 2, "msg_2")])
    await one.load()
    assert [(seq, entry.message) for seq, entry in one.after(0)] == [(1, "msg_1"), (2, "msg_2")]


async def test_entries_of_a_caller_that_is_canceled_are_known_with_their_numbers(tmp_path: Path):
    journal = Journal(tmp_path, SESSION)
    appending = asyncio.create_task(journal.extend([Entry(names.ADMITTED, 1, "msg_1")]))
    await asyncio.sleep(0)
    appending.cancel()
    await asyncio.wait({appending})
    assert [seq for seq, _ in journal.after(0)] == [1]


async def test_all_who_wait_learn_of_an_entry_at_once(tmp_path: Path):
    journal = Journal(tmp_path, SESSION)
    waiting = [asyncio.create_task(journal.wait(0, 60)) for _ in range(3)]
    await asyncio.sleep(0)
    await journal.extend([Entry(names.ADMITTED, 1, "msg_1")])
    assert await asyncio.gather(*waiting) == [True] * 3


def test_programs_find_the_server_while_it_runs_and_nobody_else_reads_the_password(tmp_path: Path):
    folder = tmp_path / "state" / "opencode"
    password = choose_password(folder, None)
    with registered(folder, "http://127.0.0.1:1", password):
        assert (folder / PASSWORD).read_text() == password
        assert {(folder / name).stat().st_mode & 0o777 for name in (ADDRESS, PASSWORD)} == {0o600}
        with pytest.raises(ConfigError, match=f"runs already, as process {os.getpid()}"):
            choose_password(folder, None)
    assert list(folder.iterdir()) == []


def test_a_password_that_is_there_stays_and_is_used(tmp_path: Path):
    (tmp_path / PASSWORD).write_text("theirs\n")
    assert choose_password(tmp_path, None) == choose_password(tmp_path, "theirs") == "theirs"
    with pytest.raises(ConfigError, match="has another password"):
        choose_password(tmp_path, "mine")
    with registered(tmp_path, "http://127.0.0.1:1", "theirs"):
        (tmp_path / ADDRESS).write_text('{"id": "another", "pid": 0}')
    assert (tmp_path / PASSWORD).read_text() == "theirs\n" and (tmp_path / ADDRESS).exists()


@pytest.mark.slow
async def test_a_session_of_before_has_numbered_events_in_the_described_form(serve):
    async with serve() as face:
        session_id = await face.session()
        await face.say(session_id, "hello")
        newer = Newer(face.http)
        history = await newer.history(session_id)
    assert newer.problems == [] and numbers(history) == [1, 2, 3, 4, 5, 6]
    assert kinds(history)[:3] == ["prompt.admitted", "prompted", "step.started"]
