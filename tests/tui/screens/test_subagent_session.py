"""What is sent in the session of a subagent is for that subagent: one that only reads does not edit because you write to it."""

import threading
from pathlib import Path

import pytest

from opencode_tui.schema.session.message import UserMessage
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

LOOK = Answer(calls=(Call("task", {"description": "look around", "prompt": "look", "subagent_type": "explore"}),))
LOOKED = Answer(text="The child looked.")
DONE = Answer(text="The parent is done.")
SETTINGS = {
    "command": {"greet": {"template": "Greetings to $ARGUMENTS"}},
    "agent": {"scout": {"mode": "subagent", "description": "Looks.", "permission": {"edit": "deny"}}},
}


async def into_the_session(page: Page) -> None:
    """Let the agent call a subagent, and show the session of that."""
    await page.send("go")
    await page.sees("The parent is done.")
    await page.sees("Done")
    await page.press("ctrl+x", "right")
    await page.sees("The child looked.")
    await page.sees("parent session")


async def agents(page: Page) -> list[str]:
    """Return the agents of the requests of the session that is shown, the latest last."""
    messages = await page.world.client.messages.list(page.session_id or "")
    return [one.info.agent for one in messages if isinstance(one.info, UserMessage)]


def shown_agent(page: Page) -> str:
    """Return the agent of the status line."""
    return page.text().splitlines()[-1].split()[0]


@pytest.mark.slow
async def test_a_subagent_that_only_reads_edits_nothing_because_of_your_prompt(
    environ: dict[str, str], folder: Path
) -> None:
    write = Answer(calls=(Call("write", {"filePath": "by_explore.md", "content": "x\n"}),))
    answers = LOOK, LOOKED, DONE, write, Answer(text="I was not able to.")
    async with screen(environ, folder, *answers, size=(120, 34)) as page:
        await into_the_session(page)
        await page.send("now write it")
        await page.sees("I was not able to.")
        assert not (folder / "by_explore.md").exists()
        assert await agents(page) == ["explore", "explore"]
        assert shown_agent(page) == "explore"


@pytest.mark.fast_cases("explore-command", "general-command")
@pytest.mark.parametrize("typed", ["and there?", "/greet you", "!true"], ids=["prompt", "command", "shell"])
@pytest.mark.parametrize("name", ["explore", "general", "scout"])
async def test_what_you_send_in_its_session_is_for_the_subagent(
    environ: dict[str, str], folder: Path, name: str, typed: str
) -> None:
    call = Call("task", {"description": "look around", "prompt": "look", "subagent_type": name})
    answers = Answer(calls=(call,)), LOOKED, DONE, Answer(text="There too.")
    async with screen(environ, folder, *answers, settings=SETTINGS, size=(120, 34)) as page:
        await into_the_session(page)
        count = len(await page.world.client.sessions.list())
        await page.send(typed)
        await page.sees("Shell  true" if typed == "!true" else "There too.")
        assert await agents(page) == [name, name]
        assert shown_agent(page) == name
        assert len(await page.world.client.sessions.list()) == count  # a command is not one more subagent of its own


@pytest.mark.slow
async def test_a_prompt_during_its_turn_is_for_the_subagent(environ: dict[str, str], folder: Path) -> None:
    goes_on = threading.Event()
    answers = LOOK, Answer(text="I look around", holds=(("around", goes_on),)), Answer(text="And there."), DONE
    async with screen(environ, folder, *answers, size=(120, 34)) as page:
        await page.send("go")
        await page.sees("look around")
        await page.press("ctrl+x", "right")
        await page.sees("parent session")
        await page.send("and there?")
        await page.sees("and there?")
        goes_on.set()
        await page.sees("And there.")
        assert await agents(page) == ["explore", "explore"]


@pytest.mark.fast_cases("cycle")
@pytest.mark.parametrize("keys", [["tab"], ["ctrl+x", "a"]], ids=["cycle", "list"])
async def test_the_agent_of_its_session_cannot_be_changed_there(
    environ: dict[str, str], folder: Path, keys: list[str]
) -> None:
    async with screen(environ, folder, LOOK, LOOKED, DONE, Answer(text="There too."), size=(120, 34)) as page:
        await into_the_session(page)
        await page.press(*keys)
        await page.sees("This is a session of explore")
        await page.send("and there?")
        await page.sees("There too.")
        assert await agents(page) == ["explore", "explore"]
        await page.press("ctrl+x", "up")
        await page.sees("The parent is done.")
        assert shown_agent(page) == "build"


@pytest.mark.slow
async def test_the_rules_that_are_shown_there_are_those_of_the_subagent(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, LOOK, LOOKED, DONE, size=(120, 34)) as page:
        await into_the_session(page)
        await page.send("/permissions")
        await page.sees("deny  edit ")


@pytest.mark.fast_cases("new session")
@pytest.mark.parametrize("leaving", [["ctrl+x", "up"], ["ctrl+x", "n"]], ids=["parent", "new session"])
async def test_elsewhere_what_you_send_is_for_your_agent(
    environ: dict[str, str], folder: Path, leaving: list[str]
) -> None:
    async with screen(environ, folder, LOOK, LOOKED, DONE, Answer(text="Here too."), size=(120, 34)) as page:
        await into_the_session(page)
        await page.press(*leaving)
        await page.sees_no_more("parent session")
        assert shown_agent(page) == "build"
        await page.send("and here?")
        await page.sees("Here too.")
        assert (await agents(page))[-1] == "build"
        await page.press("tab")
        await page.says("plan")
        assert shown_agent(page) == "plan"
