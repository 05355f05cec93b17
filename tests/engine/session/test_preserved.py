from pathlib import Path

import pytest

from opencode_tui.engine.session.compaction.ledger import LedgerPlace, LedgerSources, build_ledger
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.session.part import PatchPart, ToolPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolTime
from tests.support.sessions.records import assistant, compaction, image, owner, text, user


def kept(messages, todos=(), room=24_000, tail_id=None) -> str:
    return build_ledger(LedgerSources(messages, todos, LedgerPlace(Path("/w")), room, tail_id)).text


def touched(tool: str, path: str) -> ToolPart:
    state = ToolStateCompleted(input={"filePath": path}, output="ok", time=ToolTime(start=1, end=2))
    return ToolPart(**owner(), call_id=path, tool=tool, state=state)


def test_the_last_request_is_preserved_verbatim() -> None:
    asked = "Fix it:\n  indent   and\ttabs stay\n"
    assert kept([user("old"), assistant("a"), user(asked), assistant("b")]).endswith(asked.strip())


def test_a_synthetic_message_is_not_a_request() -> None:
    messages = [user("mine"), assistant("a"), user(text("go on", synthetic=True)), user(compaction())]
    assert kept(messages).endswith("## The user's last request\nmine")


def test_a_request_that_is_still_sent_is_not_preserved_twice() -> None:
    old, pending = user("the old one"), user("the new one")
    result = kept([old, assistant("a"), pending], tail_id=pending.info.id)
    assert "the old one" in result and "the new one" not in result and "last request" not in result


def test_attachments_of_the_last_request_are_preserved_by_name() -> None:
    assert kept([user("see", image(name="shot.png"))]).endswith("see\n[attached: shot.png]")


def test_open_todos_are_preserved_and_closed_ones_are_not() -> None:
    statuses = ("pending", "in_progress", "completed", "cancelled")
    result = kept([user("x")], [Todo(content=f"do {status}", status=status) for status in statuses])
    assert "- [pending] do pending\n- [in progress] do in_progress" in result
    assert "do completed" not in result and "do cancelled" not in result


def test_the_background_commands_that_run_are_preserved_with_their_ids() -> None:
    def command(name: str, words: str, folder: str) -> BackgroundCommand:
        return BackgroundCommand(
            id=name,
            session_id="s",
            message_id="m",
            call_id="c",
            command=words,
            description="",
            directory=folder,
            state="running",
            started=1,
        )

    commands = [command("bg1", "npm run dev", "/w"), command("bg2", "tail -f \\\n log\n" + "x" * 400, "/w/sub")]
    sources = LedgerSources([user("x")], (), LedgerPlace(Path("/w")), 24_000, commands=commands)
    lines = build_ledger(sources).text.split("## Background commands that run, for bash_output\n")[1].split("\n\n")[0]
    first, second = lines.splitlines()
    assert first == "- bg1: npm run dev"
    assert second.startswith("- bg2: tail -f") and second.endswith("(in sub)") and len(second) < 400


@pytest.mark.parametrize(
    "rule",
    [
        "Always run make lint before you commit.",
        "From now on use tabs.",
        "never touch vendor/",
        "以后都用中文注释。",
        "必ずテストを書いてください。",
        "Ne modifie jamais ce fichier.",
    ],
)
def test_rules_of_the_user_are_preserved_at_any_age(rule: str) -> None:
    later = [one for n in range(60) for one in (user(f"request {n} " + "words " * 120), assistant("done"))]
    assert rule.strip() in kept([user(f"Build it. {rule} Thanks."), assistant("ok"), *later])


def test_files_are_preserved_relative_to_the_worktree_changed_ones_before_read_ones() -> None:
    patch = PatchPart(**owner(), hash="h", files=["/w/src/a.py", "/elsewhere/b.py"])
    answer = assistant(touched("read", "/w/README.md"), touched("edit", "/w/src/a.py"), patch)
    result = kept([user("x"), answer])
    assert "## Files changed\n- src/a.py\n- /elsewhere/b.py\n\n## Files read last\n- README.md" in result


def test_of_many_changed_files_the_last_ones_are_named_and_the_others_counted() -> None:
    result = kept([user("x"), assistant(*(touched("write", f"/w/f{n}") for n in range(100)))])
    assert "- (and 20 older ones)\n- f20\n" in result and "- f99" in result


@pytest.mark.slow
def test_the_preserved_text_leaves_most_of_a_small_context_free() -> None:
    messages = [one for n in range(50) for one in (user("always " + f"w{n} " * 4_000), assistant("a"))]
    assert len(kept(messages, room=8_000)) / 4 < 8_000 * 0.45


def test_a_huge_last_request_is_cut_in_its_middle() -> None:
    result = kept([user("BEGIN " + "x" * 100_000 + " END")], room=8_000)
    assert "BEGIN" in result and result.endswith("END") and "characters left out" in result and len(result) < 10_000


def test_without_requests_nothing_is_preserved() -> None:
    assert kept([user(text("only the program", synthetic=True))]) == ""
