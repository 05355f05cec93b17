"""Nothing that a model, a file, a server or another program wrote steers the terminal, wherever it is shown."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.context import ContextItem, ContextView
from opencode_tui.schema.api.folder import CommandSummary, InactiveSetting, Notices
from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRequest, Verdict
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import BusyStatus, RetryStatus, Todo
from opencode_tui.schema.session.undo import RevertPreview, UndoFile, UndoScope
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.options import StartOptions
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import look, screen_text
from tests.support.terminal.scripted_client import SONNET, Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.usefixtures("jumping_clock")

EVIL = " ".join(HOSTILE)
PLACES = {
    "chat": (),
    "commands": ("ctrl+p",),
    "sessions": ("ctrl+x", "l"),
    "models": ("ctrl+x", "m"),
    "agents": ("ctrl+x", "a"),
    "context": ("ctrl+x", "i"),
    "changes": ("ctrl+x", "d"),
    "timeline": ("ctrl+x", "g"),
    "undo": ("ctrl+x", "u"),
    "status": ("ctrl+x", "s"),
    "completion": ("@",),
    "slash": ("slash",),
    "rename": ("ctrl+p", "r", "e", "n", "a", "m", "e", "enter"),
}


def script() -> Script:
    """Evil texts everywhere."""
    story = Story()
    story.user(EVIL, "1")
    story.answer([EVIL, story.running("bash", {"command": EVIL}, output=EVIL)], at="1", end=None)
    model = SONNET.changed(model_id=EVIL, name=EVIL)
    item = ContextItem(kind="call", group="outputs", name=EVIL, tokens=5, tool=EVIL)
    view = ContextView(
        session_id=SESSION, model=ModelRef(provider_id="p", model_id="m"), agent=EVIL, tokens=5, usable=9, items=[item]
    )
    message = story.messages[0].info.id
    undo = RevertPreview(
        scope=UndoScope(message_id=message, messages=[message], requests=1),
        kept=[UndoFile(path=EVIL, reason=EVIL)],
        deleted=[UndoFile(path=EVIL, note=EVIL)],
    )
    return Script(
        [session(EVIL), session(EVIL, id="ses_other"), session(f"{EVIL} (@{EVIL} subagent)", id="ses_child", parent_id=SESSION)],
        story.messages,
        todos=[Todo(content=EVIL, status=EVIL)],
        diffs=[FileDiff(file=EVIL, before=EVIL, after=f"{EVIL}\n{EVIL}", additions=1, deletions=1)],
        models=[model],
        commands=[CommandSummary(name="evil", description=EVIL, template="")],
        notices=Notices(warnings=[EVIL], ignored=[InactiveSetting(setting=EVIL, reason=EVIL)]),
        files=[EVIL],
        branch=EVIL,
        context=view,
        undo=undo,
        directory=Path(ROOT),
    )  # fmt: skip


async def shown(told: Script, keys: tuple[str, ...]) -> str:
    """Everything that is drawn after these keys."""
    load_actions()
    app = OpenCodeApp(StartOptions(told.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=(150, 44)) as pilot:
        app.attach(as_client(ScriptedClient(told)))
        await pilot.pause(0.4)
        await pilot.press(*keys)
        await pilot.pause(0.4)
        return screen_text(app)


@pytest.mark.fast_cases("context")
@pytest.mark.parametrize("place", PLACES)
async def test_no_text_steers_the_terminal(place: str) -> None:
    text = await shown(script(), PLACES[place])
    assert steering(text) == []
    assert "gone" in text or place in ("commands", "slash")


async def test_no_question_steers_the_terminal() -> None:
    told = script()
    told.statuses = {SESSION: BusyStatus()}
    told.permissions = [
        PermissionRequest(
            id="per_1",
            session_id="ses_child",
            permission=EVIL,
            patterns=[EVIL, EVIL],
            always=[EVIL],
            metadata={"diff": f"@@ -1 +1 @@\n-{EVIL}\n+{EVIL}\n"},
        )
    ]
    verdicts = [Verdict(permission="bash", pattern=EVIL, action="ask", note=EVIL)] * 2
    told.report = PermissionReport(action="ask", verdicts=verdicts)
    text = await shown(told, ())
    assert "reject and tell" in text
    assert steering(text) == []


@pytest.mark.slow
async def test_no_question_of_an_agent_and_no_wait_steers_the_terminal() -> None:
    told = script()
    told.statuses = {SESSION: RetryStatus(attempt=1, message=EVIL, next=NOON + 5_000)}
    options = [QuestionOption(label=EVIL, description=EVIL)]
    told.questions = [
        QuestionRequest(
            id="que_1", session_id=SESSION, questions=[Question(question=EVIL, header=EVIL, options=options)]
        )
    ]
    text = await shown(told, ())
    assert "type an answer" in text
    assert steering(text) == []


@pytest.mark.slow
async def test_a_region_that_cannot_be_drawn_says_so_and_the_rest_goes_on() -> None:
    load_actions()
    told = script()
    app = OpenCodeApp(StartOptions(told.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=(150, 44)) as pilot:
        app.attach(as_client(ScriptedClient(told)))
        await pilot.pause(0.4)
        app.chat.opened.sidebar.facts = None  # pyright: ignore[reportAttributeAccessIssue] - what a mistake of ours might leave
        app.chat.opened.sidebar.redraw()
        await pilot.press("a")
        await pilot.pause(0.2)
        text = screen_text(app)
        assert "Could not render this; see the log" in text
        assert app.chat.prompt.editor.text == "a"
