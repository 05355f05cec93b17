"""The keys of a command's question: what each replies, and the rule that is edited before it is stored."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.event.event import PermissionReplied
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.session.session import BusyStatus
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.options import StartOptions
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.usefixtures("jumping_clock")

COMMAND = "npm install left-pad"


def asked(kind: str, *always: str, command: str = COMMAND, **facts: Any) -> PermissionRequest:
    sandbox = {"kind": kind, "runs": "host", "tier": "bubblewrap", "folder": ROOT, **facts}
    return PermissionRequest(
        id="per_1",
        session_id=SESSION,
        permission="bash",
        patterns=[command],
        always=list(always),
        metadata={"sandbox": sandbox},
    )


@asynccontextmanager
async def question(
    request: PermissionRequest, size: tuple[int, int] = (110, 34), *, is_slow: bool = False, fault: str = ""
) -> AsyncGenerator[tuple[Page, list[tuple[Any, ...]]]]:
    """Show a question; the list gets what is replied: (reply, message, always).

    A slow engine does not say that the question is answered; with a fault the first reply fails so.
    """
    load_actions()
    story = Story()
    story.user("do it", "1")
    script = Script([session("Work")], story.messages, {SESSION: BusyStatus()}, [request])
    client = ScriptedClient(script)
    replies: list[tuple[Any, ...]] = []

    def reply(
        _id: str, reply: Reply, message: str | None = None, *, always: list[str] | None = None, host: bool = False
    ) -> bool:
        replies.append((reply, message, always, *(["host"] if host else [])))
        if fault and len(replies) == 1:
            raise ConfigError(fault)
        if not is_slow:
            script.permissions.clear()
            client.send(PermissionReplied(session_id=SESSION, request_id=_id, reply=reply))
        return True

    client.permissions.answer(reply=reply)
    app = OpenCodeApp(StartOptions(script.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=size) as pilot:
        app.attach(as_client(client))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        yield page, replies


OUTSIDE = asked("outside", "npm install *", reasons=["Accesses the network."])


@pytest.mark.fast_cases("request_4-Discards all-keys4-reply4")
@pytest.mark.parametrize(
    ("request_", "sees", "keys", "reply"),
    [
        (OUTSIDE, "Run this outside the sandbox?", ["y"], ("once", None, None)),
        (OUTSIDE, 'a always allow "npm install *"', ["a"], ("always", None, None)),
        (OUTSIDE, "e edit the rule", ["e", "enter"], ("always", None, ["npm install *"])),
        (OUTSIDE, "n reject and tell the agent why", ["n", "enter"], ("reject", None, None)),
        (asked("discard", reasons=["Discards all uncommitted changes."]), "Discards all", ["y"], ("once", None, None)),
        (asked("refused", "x", host="db.local:5432"), "It tried to reach db.local:5432.", ["y"], ("once", None, None)),
        (
            asked("refused", host="db", reasons=["Reaches db.", "Is odd."]),
            "reach db. Is odd.",
            ["y"],
            ("once", None, None),
        ),
        (asked("refused", host="db", allows="db"), "h allow db in this project", ["h"], ("always", None, None, "host")),
        (asked("refused", "x *", reasons=["Uses /etc/x."]), "Uses /etc/x.", ["a"], ("always", None, None)),
        (asked("refused", host="db.local"), "Run it again outside the sandbox?", ["n"], ("reject", None, None)),
        (asked("protected", files=[".envrc"]), "Keep these protected files?", ["k"], ("once", None, None)),
        (asked("protected", files=[".envrc"]), ".envrc", ["r"], ("reject", None, None)),
    ],
)
async def test_each_key_of_a_commands_question_sends_its_reply(
    request_: PermissionRequest, sees: str, keys: list[str], reply: tuple[Any, ...]
) -> None:
    async with question(request_) as (page, replies):
        await page.sees(sees)
        for key in keys:
            await asyncio.sleep(0.3)
            await page.answer(key)
        await page.sees_no_more("Waiting for your approval")
        assert replies == [reply]


@pytest.mark.slow
async def test_the_edited_rule_is_stored_and_an_empty_one_is_not() -> None:
    async with question(asked("outside", "npm install *")) as (page, replies):
        await page.sees("e edit the rule")
        await page.answer("e")
        await page.sees("Always allow in this project (bash)")
        await page.press("ctrl+u", "enter")
        assert replies == []
        await page.type("npm *")
        await page.press("enter")
        await page.sees_no_more("Waiting for your approval")
        assert replies == [("always", None, ["npm *"])]


@pytest.mark.fast_cases("e")
@pytest.mark.parametrize("key", ["e", "n"])
async def test_a_key_right_after_escape_from_what_a_key_opened_answers_the_question(key: str) -> None:
    async with question(asked("outside", "npm install *")) as (page, replies):
        await page.sees("e edit the rule")
        await page.answer(key)
        await page.sees("enter")
        await page.press("escape", "y")
        await page.sees_no_more("Waiting for your approval")
        assert [reply[0] for reply in replies] == ["once"]
        assert page.app.chat.prompt.editor.text == ""


@pytest.mark.fast_cases("y-a")
@pytest.mark.parametrize(("first", "second"), [("y", "y"), ("y", "a"), ("a", "escape")])
async def test_keys_that_come_at_once_answer_once(first: str, second: str) -> None:
    async with question(OUTSIDE) as (page, replies):
        await page.sees("a always allow")
        await page.answer()
        page._deliver(first)
        await page.press(second)
        await page.sees_no_more("Waiting for your approval")
        assert [reply[0] for reply in replies] == ["once" if first == "y" else "always"]


async def test_an_answered_question_is_not_shown_again_while_the_engine_still_has_it() -> None:
    async with question(OUTSIDE, is_slow=True) as (page, replies):
        await page.sees("a always allow")
        await page.answer("y")
        await page.sees_no_more("a always allow")
        page.app.chat.opened.chrome.refresh()  # as the timer of the row does
        await page.press("f12")
        assert "a always allow" not in page.text()
        assert len(replies) == 1


@pytest.mark.slow
async def test_a_question_whose_answer_fails_is_shown_again() -> None:
    async with question(OUTSIDE, fault="the server is gone") as (page, replies):
        await page.sees("a always allow")
        await page.answer("y")
        await page.sees("the server is gone")
        await page.sees("a always allow")
        await page.answer("y")
        await page.sees_no_more("Waiting for your approval")
        assert len(replies) == 2


@pytest.mark.slow
async def test_a_stored_rule_is_named_with_its_undo() -> None:
    async with question(OUTSIDE) as (page, _):
        await page.sees("a always allow")
        await page.answer("a")
        await page.sees('Always allowed "npm install *"  undo: opencode-tui permission revoke bash "npm install *"')


@pytest.mark.slow
async def test_a_rule_that_is_too_long_for_its_key_is_shown_in_full_before_it_is_stored() -> None:
    rule = f"npm install {'x' * 70} *"
    async with question(asked("outside", rule)) as (page, replies):
        await page.sees("a always allow")
        await page.answer("a")
        await page.sees("* is any text")
        assert replies == []
        await page.press("enter")
        await page.sees_no_more("Waiting for your approval")
        assert replies == [("always", None, [rule])]


@pytest.mark.slow
async def test_a_command_that_discards_can_only_be_allowed_once() -> None:
    async with question(asked("discard", reasons=["Discards all uncommitted changes."])) as (page, replies):
        text = await page.sees("y run once")
        assert "always" not in text and "edit the rule" not in text
        await page.answer("a", "e")
        assert replies == []


@pytest.mark.slow
async def test_a_question_about_the_outside_names_the_folder_of_the_command() -> None:
    async with question(asked("outside", "x *", folder=f"{ROOT}/web", reasons=["Accesses the network."])) as (page, _):
        await page.sees(f"Accesses the network. Working directory: {ROOT}/web")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 30), (140, 34)])
@pytest.mark.parametrize("kind", ["outside", "refused", "protected", HOSTILE[0]])
async def test_no_text_of_a_sandbox_question_steers_the_terminal(kind: str, size: tuple[int, int]) -> None:
    hostile = " ".join(HOSTILE)
    facts: dict[str, Any] = {"reasons": [*HOSTILE, 3], "host": hostile, "path": hostile, "folder": hostile}
    files = [*HOSTILE, None, 7] if kind == "protected" else "no list"
    async with question(asked(kind, hostile, command=hostile, files=files, **facts), size) as (page, _):
        await page.sees("Waiting for your approval")
        await page.pilot.pause(0.1)
        assert steering(page.text()) == []
