"""What a compaction keeps word for word, through the engine: edited, sent, searched; and compactions without progress."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.session.compaction.ledger import LedgerPlace, LedgerSources, build_ledger
from opencode_tui.engine.session.compaction.progress import has_progress
from opencode_tui.engine.session.compaction.recall import MOST, find_excerpts
from opencode_tui.engine.session.compaction.summary import newest_request
from opencode_tui.schema.api.context import CompactSession, LedgerChange
from opencode_tui.schema.error import NotFoundError, SessionError
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.session.ledger import KeptLedger, LedgerEdit, LedgerEntry
from opencode_tui.schema.session.part import PatchPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateError, ToolTime
from opencode_tui.schema.session.until import CheckRun, Until
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.token_counter import Window
from tests.support.sessions.records import assistant, call, compaction, owner, user
from tests.support.world.engine import World, opened, while_reacting
from tests.support.world.waiting import PATIENCE_S


def ledger(*messages: Any, edits: tuple[LedgerEdit, ...] = (), room: int = 24_000, **fields: Any) -> list[LedgerEntry]:
    place = fields.pop("place", LedgerPlace(Path("/w")))
    known = {one.id: one for one in edits}
    return list(build_ledger(LedgerSources(list(messages), (), place, room, edits=known, **fields)).entries)


def texts(entries: list[LedgerEntry], kind: str) -> list[str]:
    return [one.text for one in entries if one.kind == kind]


def rejected(command: str, feedback: str | None = None) -> ToolPart:
    state = ToolStateError(
        input={"command": command},
        error="The user rejected permission",
        feedback=feedback,
        time=ToolTime(start=1, end=2),
        metadata={"stopReason": "rejected"},
    )
    return ToolPart(**owner(), call_id=command, tool="bash", state=state)


def ran(command: str, code: int, output: str = "out") -> ToolPart:
    return call(command, "bash", given={"command": command}, output=output, details={"exit": code})


def test_rejected_calls_are_kept_with_what_the_user_said() -> None:
    entries = ledger(user("x"), assistant(rejected("git push"), rejected("rm -rf data", "move it to old/ instead")))
    assert texts(entries, "refusal") == ["bash git push", "bash rm -rf data: move it to old/ instead"]


def test_a_request_that_waits_is_neither_kept_nor_found_by_a_search() -> None:
    """It may be withdrawn: what a compaction keeps of it would be sent all the same."""
    waits = user("Never touch the parser.", id="msg_9", delivery="queue")
    messages = [user("Build it."), assistant("ok"), waits]
    assert [one.text for one in ledger(*messages) if "parser" in one.text] == []
    assert find_excerpts(messages, "parser") == [] and newest_request(messages) == messages[0].info


@pytest.mark.parametrize(
    "said", ["No, use the other parser.", "That's not what I meant.", "Rename it rather than copy it."]
)
def test_corrections_are_kept_and_are_not_rules(said: str) -> None:
    entries = ledger(user("Build it."), assistant("ok"), user(f"{said} Never use tabs."), assistant("ok"))
    assert (texts(entries, "correction"), texts(entries, "rule")) == ([said], ["Never use tabs."])


def test_the_worktree_and_its_branch_are_kept() -> None:
    place = LedgerPlace(Path("/w-fix"), "fix", Path("/w"))
    assert texts(ledger(user("x"), place=place), "place") == ["/w-fix, a linked worktree of /w, on the branch fix"]


def test_the_last_failing_check_is_kept_until_it_passes() -> None:
    failing = assistant(ran("pytest -q tests/a.py", 1, "F\nAssertionError: 3 != 4"), ran("grep -r x .", 1))
    kept = ["pytest -q tests/a.py (exits with 1)\nF\nAssertionError: 3 != 4"]
    assert texts(ledger(user("x"), failing), "check") == kept
    assert texts(ledger(user("x"), failing, assistant(ran("pytest -q", 0))), "check") == []


def test_the_check_of_the_session_is_kept_while_it_fails() -> None:
    answer = assistant(ran("make test", 2, "E 1"))
    until = Until(command="make test", last=CheckRun(at=1, took=1, exit=2, message_id=answer.info.id))
    assert texts(ledger(user("x"), answer, until=until), "check") == ["make test (exits with 2)\nE 1"]


def test_the_user_changes_removes_and_adds_entries() -> None:
    asked = user("Always use tabs. Never push.")
    tabs, push = (one.id for one in ledger(asked) if one.kind == "rule")
    edits = (
        LedgerEdit(id=tabs, kind="rule", text="Always use spaces."),
        LedgerEdit(id=push, kind="rule"),
        LedgerEdit(id="note-1", kind="note", text="The staging server is down."),
    )
    entries = ledger(asked, edits=edits)
    assert [(one.text, one.origin) for one in entries[:2]] == [
        ("Always use spaces.", "edited"),
        ("The staging server is down.", "added"),
    ]
    assert texts(entries, "rule") == ["Always use spaces."]


SAID = ("Always use tabs.", "No, the other one.", "list this", "Never push. Look again.", "and now")


@pytest.mark.parametrize("seed", range(40))
def test_a_ledger_on_top_of_a_kept_one_is_that_of_all_messages(seed: int) -> None:
    chance = random.Random(seed)
    messages: list[Any] = []
    for number in range(chance.randint(2, 14)):
        messages.append(user(chance.choice(SAID)))
        tools = [
            rejected(f"push {number}", chance.choice((None, "later"))),
            ran("pytest -q", chance.choice((0, 1)), f"run {number}"),
            call(f"r{number}", given={"filePath": f"/w/f{chance.randint(0, 4)}"}),
        ]
        messages.append(
            assistant(
                *chance.sample(tools, chance.randint(0, 3)), PatchPart(**owner(), hash="h", files=[f"/w/g{number % 5}"])
            )
        )
    place = LedgerPlace(Path("/w"), "main")

    def built(some: list[Any], base: KeptLedger | None = None) -> Any:
        return build_ledger(LedgerSources(some, (), place, 24_000, base=base))

    at = chance.randrange(0, len(messages), 2)
    layered = built(messages[at:], built(messages[:at]).kept) if at else built(messages, None)
    assert (layered.text, layered.omitted) == (built(messages).text, {})


def sent(world: World, request: int = -1) -> str:
    return "\n".join(content_text(one["content"]) for one in world.server.bodies[request]["messages"])


@pytest.mark.slow
async def test_an_edit_is_in_the_next_request_and_is_named_as_the_cause_of_its_new_start(
    environ: dict[str, str], tmp_path: Path
) -> None:
    answers = [Answer(text=one) for one in ("one", "the summary", "two", "three")]
    async with opened(environ, tmp_path, *answers) as world:
        context = world.client.context
        session = await world.prompt("Always use tabs.")
        before = await context.ledger(session.id)
        assert not before.is_compacted and texts(before.entries, "rule") == ["Always use tabs."]
        await context.compact(session.id, CompactSession())
        await world.prompt("go on", session=session)
        rule = next(one for one in (await context.ledger(session.id)).entries if one.kind == "rule")
        assert rule.is_sent and "- Always use tabs." in sent(world)
        await context.change_ledger(session.id, LedgerChange(id=rule.id, text="Always use spaces."))
        view = await context.change_ledger(session.id, LedgerChange(text="The API is frozen."))
        changed = [one.is_sent for one in view.entries if one.origin != "records"]
        assert changed and all(changed)
        await world.prompt("and now", session=session)
        breaks = (await context.items(session.id)).prefix.breaks
    assert "- Always use spaces." in sent(world) and "- The API is frozen." in sent(world)
    assert "- Always use tabs." not in sent(world)
    assert [one.cause for one in breaks] == ["the history was compacted", "the ledger was edited"]


async def test_a_removed_entry_stays_removed_until_it_is_restored(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path, Answer(text="one")) as world:
        context, session = world.client.context, await world.prompt("Never push.")
        rule = (await context.ledger(session.id)).entries[0]
        view = await context.change_ledger(session.id, LedgerChange(id=rule.id))
        assert ([one.id for one in view.removed], texts(view.entries, "rule")) == ([rule.id], [])
        view = await context.change_ledger(session.id, LedgerChange(id=rule.id, is_restored=True))
        assert (view.removed, texts(view.entries, "rule")) == ([], ["Never push."])
        with pytest.raises(NotFoundError, match="no entry rule-x"):
            await context.change_ledger(session.id, LedgerChange(id="rule-x", text="?"))
        with pytest.raises(SessionError, match="at most 2,000 characters, this one has 2,001"):
            await context.change_ledger(session.id, LedgerChange(text="x" * 2_001))


def compacted(*old: Any, since: tuple[Any, ...] = ()) -> list[Any]:
    marker = user(compaction())
    return [*old, marker, assistant("the summary", parent=marker, summary=True), *since]


def test_recall_finds_what_is_not_sent_and_nothing_else() -> None:
    old = [
        user("The port is 8123."),
        assistant(call("c1", output="x\n" * 900 + "token = zebra\n" + "y\n" * 900), "done"),
    ]
    messages = compacted(*old, since=(user("zebra is here too"),))
    (found,) = find_excerpts(messages, "Zebra")
    assert (found.call_id, found.message_id) == ("c1", old[1].info.id)
    assert "token = zebra" in found.text and len(found.text) <= 800
    assert [one.who for one in find_excerpts(messages, "port")] == ["the user"]
    assert find_excerpts(messages, "absent") == []


def test_recall_finds_the_passage_with_the_rarest_words_and_the_phrase_first() -> None:
    old = [assistant(call(f"c{n}", output=f"file {n} of the build")) for n in range(60)]
    old.insert(30, assistant("The port of the build is 8123"))
    old.insert(40, assistant("A build of the port"))
    found = find_excerpts(compacted(*old), "port of the build")
    assert len(found) == MOST and [one.text for one in found[:2]] == [
        "The port of the build is 8123",
        "A build of the port",
    ]


def test_a_pruned_output_of_a_sent_message_is_found() -> None:
    (found,) = find_excerpts([user("x"), assistant(call("c1", output="needle", pruned=True))], "needle")
    assert found.call_id == "c1"


REPEATED = call("c1", given={"filePath": "big"})


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ((assistant(call("c2", given={"filePath": "big"})),), False),
        ((assistant(call("c2", given={"filePath": "other"})),), True),
        ((assistant(call("c2", given={"filePath": "big"})), user("look at b")), True),
        ((assistant(call("c2", given={"filePath": "big"}), PatchPart(**owner(), hash="h", files=["/w/a"])),), True),
        ((), True),
    ],
)
def test_progress_is_a_prompt_a_changed_file_or_a_new_call(since: tuple[Any, ...], expected: bool) -> None:
    assert has_progress(compacted(user("go"), assistant(REPEATED), since=since)) is expected


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["Stop", "Compact and continue"])
async def test_a_second_compaction_without_progress_asks(environ: dict[str, str], tmp_path: Path, answer: str) -> None:
    (tmp_path / "big.txt").write_text("".join(f"line {n} of many words that fill the context\n" for n in range(1_300)))
    read = Answer(calls=(Call("read", {"filePath": "big.txt"}),))
    script = (read, Answer(text="sum 1"), read, Answer(text="sum 2"), Answer(text="done"))

    async def reply(asked: Any) -> None:
        assert "no file was changed" in asked.questions[0]["question"]
        await world.client.questions.reply(asked.id, [[answer]])

    settings = {"compaction": {"prepare": False}}
    async with opened(
        environ, tmp_path, *script, settings=settings, window=Window(16_000), limit=(16_000, 2_000)
    ) as world:
        session = await world.new_session()
        work = world.prompt("read it", session=session)
        if answer == "Stop":
            with pytest.raises(SessionError, match="second compaction without progress"):
                await asyncio.wait_for(while_reacting(world, QuestionAsked, reply, work), PATIENCE_S)
        else:
            await asyncio.wait_for(while_reacting(world, QuestionAsked, reply, work), PATIENCE_S)
        summaries = [one for one in await world.messages(session) if getattr(one.info, "summary", None) is True]
    assert len(summaries) == (1 if answer == "Stop" else 2)
