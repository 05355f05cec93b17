"""Whole screens as pictures, one for each situation that a person can meet; the same client, clock and letters every time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from textual import events
from textual.pilot import Pilot

from opencode_tui.schema.api.catalog import SandboxState
from opencode_tui.schema.api.context import ContextItem, ContextView
from opencode_tui.schema.api.folder import CommandSummary, InactiveSetting, Notices
from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.schema.model import Cost, ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRequest, Rule, ToolCallRef, Verdict
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import AnyStatus, BusyStatus, RetryStatus, RevertState, SessionSummary, Todo
from opencode_tui.schema.session.undo import RevertPreview, UndoFile, UndoScope
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.theme.look import Look
from tests.support.terminal import conversation as stories
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import look
from tests.support.terminal.scripted_client import SONNET, Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.usefixtures("jumping_clock")

NOW_MS = NOON + (5 * 60 + 12) * 1000
MINUTE, HOUR = 60_000, 3_600_000
Act = Callable[[Pilot[Any]], Awaitable[None]]

BEFORE = """class Writer:
    def __init__(self, out: TextIO, dialect: Dialect) -> None:
        self.out = out
        self.dialect = dialect

    def row(self, values: Sequence[object]) -> None:
        for i in range(len(values) - 1):
            self.out.write(quote(values[i]))
        self.count += 1
"""
AFTER = BEFORE.replace("range(len(values) - 1)", "range(len(values))").replace(
    "        self.out = out\n",
    "        if not out.writable():\n            raise ValueError('read-only')\n        self.out = out\n",
)
DIFFS = [
    FileDiff(file="src/csvkit/writer.py", before=BEFORE, after=AFTER, additions=3, deletions=1, status="modified"),
    FileDiff(file="tests/test_last_row.py", after="def test_it() -> None: ...\n" * 17, additions=17, status="added"),
]
TODOS = [
    Todo(content="Reproduce with a failing test", status="completed"),
    Todo(content="Fix the loop bound", status="completed"),
    Todo(content="Run the whole test suite", status="in_progress"),
    Todo(content="Add a changelog entry", status="pending"),
]


def family() -> list[Any]:
    """The sessions of the pictures."""
    summary = SessionSummary(additions=20, deletions=1, files=2)
    return [
        session("Fix the off-by-one in the parser", updated=NOW_MS - 12_000, summary=summary),
        session(
            "try a generator",
            id="ses_fork",
            updated=NOW_MS - 20 * MINUTE,
            metadata={"forkedFrom": {"sessionID": SESSION}},
        ),
        session("find CSV tests (@explore subagent)", id="ses_child", updated=NOW_MS - 31 * MINUTE, parent_id=SESSION),
        session("Dark mode for the report", id="ses_dark", updated=NOW_MS - 4 * MINUTE),
        session(
            "CHANGELOG を自動生成する", id="ses_cjk", updated=NOW_MS - 2 * HOUR, revert=RevertState(message_id="msg_x")
        ),
        session("Add retry to the client", id="ses_retry", updated=NOW_MS - 21 * HOUR),
        session("Type hints for the writer", id="ses_hints", updated=NOW_MS - 23 * HOUR),
    ]


def working() -> Script:
    """A turn that runs a command, with todos, changes and other sessions."""
    story = stories.chat_dark()
    used = story.messages[1].info.changed(tokens=Tokens(input=96_000, output=8_000), cost=0.42)
    story.messages[1] = story.messages[1].changed(info=used)
    asking = PermissionRequest(id="per_other", session_id="ses_dark", permission="bash", patterns=["rm"])
    statuses: dict[str, AnyStatus] = {SESSION: BusyStatus(), "ses_dark": BusyStatus()}
    return Script(
        family(), story.messages, statuses, [asking], todos=TODOS, diffs=DIFFS, commands=[
            CommandSummary(name="commit", description="write a commit message", template=""),
            CommandSummary(name="comment-api", description="docstrings for public functions", template=""),
        ], directory=Path(ROOT), costs={SESSION: 0.41, "ses_child": 0.01, "ses_fork": 0.11, "ses_dark": 0.57, "ses_cjk": 0.08},
    )  # fmt: skip


def idle() -> Script:
    """The same when the turn is over."""
    script = working()
    script.messages = script.messages[:2]
    script.statuses, script.permissions = {}, []
    return script


def empty() -> Script:
    """A folder where nothing was done yet, with a key."""
    return Script(directory=Path(ROOT))


def no_key() -> Script:
    """A folder where nothing was done yet, without a key."""
    return Script(directory=Path(ROOT), models=[])


def untrusted() -> Script:
    """A stranger's folder that would start things."""
    ignored = [
        InactiveSetting(
            setting=f"{ROOT}/opencode.json line 3: plugin: starts programs",
            reason="ignored until you trust this folder",
        ),
        InactiveSetting(
            setting=f"{ROOT}/opencode.json line 9: permission.bash: relaxes permissions",
            reason="ignored until you trust this folder",
        ),
    ]
    return Script(
        directory=Path(ROOT),
        models=[],
        notices=Notices(ignored=ignored, warnings=["opencode.json line 4: 'modle' is no setting"]),
    )


def asks_bash() -> Script:
    """A command with a part that asks and one that is allowed."""
    script = idle()
    story = Story()
    story.user("Clean the build folders and install the package with its test extras.", "4")
    command = 'rm -rf build dist && pip install -e ".[test]"'
    story.answer(
        ["I will remove both, then install.", story.running("bash", {"command": command}, since=8)], at="5", end=None
    )
    call = next(part for part in story.messages[1].parts if isinstance(part, ToolPart))
    ref = ToolCallRef(message_id=call.message_id, call_id=call.call_id)
    request = PermissionRequest(
        id="per_1", session_id=SESSION, permission="bash", patterns=[command], always=["rm *"], tool=ref
    )
    other = PermissionRequest(
        id="per_2", session_id="ses_child", permission="webfetch", patterns=["https://example.org"]
    )
    allowed = Rule(permission="bash", pattern="pip install *", action="allow")
    verdicts = [
        Verdict(permission="bash", pattern="rm -rf build dist", action="ask"),
        Verdict(
            permission="bash",
            pattern='pip install -e ".[test]"',
            action="allow",
            rule=allowed,
            source=f"{ROOT}/opencode.json",
        ),
    ]
    script.messages, script.statuses = story.messages, {SESSION: BusyStatus()}
    script.permissions, script.report = [request, other], PermissionReport(action="ask", verdicts=verdicts)
    return script


def asks_about_the_sandbox(kind: str, **facts: Any) -> Callable[[], Script]:
    """A question about a command that needs the outside, discards work, was refused something, or made protected files."""

    def make() -> Script:
        script = idle()
        story = Story()
        command = {"discard": "git reset --hard HEAD~3", "refused": "pytest -q tests/test_api.py"}.get(
            kind, "npm install left-pad"
        )
        story.user("Add the padding.", "4")
        story.answer(["I will do that.", story.running("bash", {"command": command}, since=8)], at="5", end=None)
        call = next(part for part in story.messages[1].parts if isinstance(part, ToolPart))
        ref = ToolCallRef(message_id=call.message_id, call_id=call.call_id)
        always = {"discard": [], "refused": ["pytest *"], "protected": []}.get(kind, ["npm install *"])
        sandbox = {"kind": kind, "runs": "host", "tier": "bubblewrap", "folder": ROOT, **facts}
        request = PermissionRequest(
            id="per_1",
            session_id=SESSION,
            permission="bash",
            patterns=[command],
            always=always,
            metadata={"sandbox": sandbox},
            tool=ref,
        )
        verdict = Verdict(permission="bash", pattern=command, action="ask")
        script.messages, script.statuses = story.messages, {SESSION: BusyStatus()}
        script.permissions, script.report = [request], PermissionReport(action="ask", verdicts=[verdict])
        return script

    return make


def without_a_sandbox() -> Script:
    """A command that asks where nothing confines commands."""
    script = asks_about_the_sandbox("outside", reasons=["Accesses the network."], tier="none")()
    script.sandbox = SandboxState(tier="none", reason="bubblewrap is missing; this kernel has no Landlock")
    return script


asks_outside = asks_about_the_sandbox("outside", reasons=["Accesses the network."])
asks_to_discard = asks_about_the_sandbox("discard", reasons=["Discards all uncommitted changes."])
asks_after_a_refusal = asks_about_the_sandbox("refused", host="db.local", allows="db.local")
asks_about_protected_files = asks_about_the_sandbox("protected", files=[".git/hooks/pre-commit", ".envrc"])


def asks_edit() -> Script:
    """An edit that asks."""
    script = asks_bash()
    diff = """\
@@ -12,4 +12,4 @@
 class Writer:
     def row(self, values):
-        for i in range(len(values) - 1):
+        for i in range(len(values)):
             self.write(values[i])
"""
    request = PermissionRequest(
        id="per_1", session_id=SESSION, permission="edit", patterns=["src/csvkit/writer.py"], always=["src/csvkit/*"],
        metadata={"diff": diff}, tool=script.permissions[0].tool,
    )  # fmt: skip
    script.permissions = [request]
    script.report = PermissionReport(
        action="ask", verdicts=[Verdict(permission="edit", pattern="src/csvkit/writer.py", action="ask")]
    )
    return script


def asks_for_a_subagent() -> Script:
    """Only the session of an agent asks."""
    script = asks_bash()
    script.permissions = [script.permissions[1]]
    script.report = None
    return script


def asks_a_question() -> Script:
    """The agent's own question."""
    script = asks_bash()
    options = [
        QuestionOption(label="Drop it", description="as the others do"),
        QuestionOption(label="Keep it", description="safer"),
    ]
    script.permissions = []
    script.questions = [
        QuestionRequest(
            id="que_1",
            session_id=SESSION,
            questions=[
                Question(question="What shall become of an empty last row?", header="Empty row", options=options)
            ],
        )
    ]
    return script


PLAN = """\
# Keep the last row

1. Reproduce the dropped row with a failing test in `tests/test_last_row.py`
2. Fix the loop bound of `rows_from()` in `src/csvkit/parser.py`, and look for the same bound in `src/csvkit/writer.py`
3. Run the whole test suite
4. **Write** the changelog
"""


def asks_to_build() -> Script:
    """A plan that is ready."""
    script = asks_a_question()
    story = Story()
    story.user("Plan a fix for the dropped row.", "4")
    story.answer([PLAN, story.running("plan_exit", {}, since=8)], at="5", end=None)
    call = next(part for part in story.messages[1].parts if isinstance(part, ToolPart))
    options = [QuestionOption(label="Yes"), QuestionOption(label="No")]
    file = ".opencode/plans/rows.md"
    asked = Question(question=f"The plan at {file} is complete. Build?", header="", options=options, plan=file)
    ref = ToolCallRef(message_id=call.message_id, call_id=call.call_id)
    script.messages, script.plan = story.messages, PLAN
    script.questions = [QuestionRequest(id="que_1", session_id=SESSION, questions=[asked], tool=ref)]
    return script


def retrying() -> Script:
    """The provider wants some rest."""
    script = working()
    script.statuses = {
        SESSION: RetryStatus(attempt=3, message="Rate limited by anthropic", next=NOW_MS + 12_000, attempts=8)
    }
    return script


def refused() -> Script:
    """A turn that failed for the key."""
    script = idle()
    script.messages = stories.errors().messages
    return script


def undoing() -> Script:
    """An undo with a file that is kept."""
    script = idle()
    story = stories.revert_preview()
    script.messages = story.messages
    users = [one.info.id for one in story.messages if one.info.role == "user"]
    gone = [one.info.id for one in story.messages if one.info.id >= users[1]]
    script.undo = RevertPreview(
        scope=UndoScope(message_id=users[1], messages=gone, requests=1, answers=len(gone) - 1),
        restored=[UndoFile(path=f"{ROOT}/src/csvkit/parser.py", status="modified", additions=1, deletions=1)],
        deleted=[UndoFile(path=f"{ROOT}/tests/test_last_row.py", status="added", additions=17)],
        kept=[UndoFile(path=f"{ROOT}/README.md", status="modified", additions=3, changed_at=NOON + 5 * MINUTE)],
    )
    return script


UNDO_OFF = "undo is off here: /home/you is your home folder"


def undoing_where_it_is_off() -> Script:
    """An undo in the home folder."""
    script = undoing()
    assert script.undo is not None
    files = [*script.undo.restored, *script.undo.deleted]
    left = [one.changed(reason=UNDO_OFF) for one in files]
    script.undo = RevertPreview(scope=script.undo.scope, unprotected=left, unavailable=UNDO_OFF)
    return script


def no_key_at_home() -> Script:
    """A first run in the home folder."""
    script = no_key()
    script.notices = Notices(undo_off=UNDO_OFF)
    return script


def context() -> Script:
    """A long session's context."""
    script = idle()

    def item(kind: Any, group: Any, name: str, tokens: int, **fields: Any) -> ContextItem:
        return ContextItem(kind=kind, group=group, name=name, tokens=tokens, **fields)

    def gone(number: int) -> ContextItem:
        time = NOON + (1 + number) * MINUTE
        return item(
            "answer", "messages", "earlier", 0, state="summarized", was=3_610, time=time, message_id=f"msg_{number}"
        )

    later = NOON + 52 * MINUTE
    items = [
        item("provider", "system", "anthropic", 100),
        item("family", "system", "anthropic", 2_200),
        item("instruction", "system", "AGENTS.md, docs/CLAUDE.md", 3_700),
        item("tools", "system", "16 definitions", 6_200),
        item("summary", "summary", "written at 12:41", 9_300),
        *(gone(number) for number in range(41)),
        item("request", "messages", "Now make the dialect sniffer handle a lone quote.", 100, time=NOON + 43 * MINUTE),
        item("thought", "messages", "not sent to this model", 0, state="unsent"),
        item("call", "outputs", "src/csvkit/sniff.py", 4_800, tool="read", frees=4_700, part_id="prt_1"),
        item("call", "outputs", "tests/data/large.csv", 20, tool="read", state="pruned", was=12_000, part_id="prt_2"),
        item("call", "outputs", '"splitlines" in src/', 20, tool="grep", state="pruned", was=3_100, part_id="prt_4"),
        item("call", "outputs", "pytest -q --tb=long", 31_400, tool="bash", frees=31_300, part_id="prt_3"),
        item("call", "outputs", "docs/dialects.md", 14_900, tool="read", frees=14_800, part_id="prt_5"),
        item("answer", "messages", "A lone quote now counts as text unless a second one closes it.", 400),
        item("request", "messages", "Now the long table.", 21_200, time=NOON + 46 * MINUTE),
        item("request", "messages", "Why does the sniffer read the file twice?", 100, time=later),
        item("file", "messages", "profile.png", 1_400, message_id="msg_x"),
        item("call", "outputs", "src/csvkit/io.py", 7_300, tool="read", frees=7_200, part_id="prt_6"),
        item("answer", "messages", "The first pass counts quotes, the second one counts commas.", 900),
        item("request", "messages", "Drop the second pass.", 0, state="reverted", was=100, time=NOON + 65 * MINUTE),
        item("call", "outputs", "src/csvkit/sniff.py", 0, tool="edit", state="reverted", was=1_200),
    ]
    model = ModelRef(provider_id="anthropic", model_id="claude-sonnet-4")
    script.context = ContextView(
        session_id=SESSION, model=model, agent="build", tokens=104_000, usable=168_000, cost=0.42, items=items
    )
    return script


def many_models() -> Script:
    """Several providers."""
    script = idle()
    cost = Cost(input=Decimal("1.25"), output=Decimal(10))
    efforts = {name: {"reasoningEffort": name} for name in ("minimal", "low", "medium", "high")}
    script.models = [
        SONNET.changed(variants={name: {"effort": name} for name in ("low", "high", "max")}, default_variant="high"),
        SONNET.changed(model_id="claude-haiku-4", name="Claude Haiku 4"),
        SONNET.changed(
            provider_id="openai", model_id="gpt-5", name="GPT-5", cost=cost, variants=efforts, default_variant="medium"
        ),
    ]
    return script


async def nothing(pilot: Pilot[Any]) -> None: ...


def press(*keys: str) -> Act:
    """Press keys one after the other."""

    async def act(pilot: Pilot[Any]) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await pilot.pause(0.2)

    return act


def write(text: str) -> Act:
    """Put a text into the prompt."""

    async def act(pilot: Pilot[Any]) -> None:
        chat_of(pilot).prompt.editor.put(text)
        await pilot.pause(0.3)

    return act


def paste(text: str) -> Act:
    """Paste a text."""

    async def act(pilot: Pilot[Any]) -> None:
        chat_of(pilot).prompt.editor.post_message(events.Paste(text))
        await pilot.pause(0.1)

    return act


def chat_of(pilot: Pilot[Any]) -> Any:
    return cast("OpenCodeApp", pilot.app).chat.opened


def listen(*keys: str) -> Act:
    """Wait until a question listens, then press keys."""

    async def act(pilot: Pilot[Any]) -> None:
        await pilot.pause(0.6)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.6)

    return act


def asked(*keys: str) -> Act:
    """Press keys that open a question, and wait until it listens."""

    async def act(pilot: Pilot[Any]) -> None:
        await press(*keys)(pilot)
        await listen()(pilot)

    return act


DARK, LIGHT, PLAIN = look(), look(dark=False), look(depth="16", plain=True)


@dataclass(frozen=True)
class Situation:
    """What is there, how large the window is, how it looks, what is done."""

    script: Callable[[], Script]
    size: tuple[int, int] = (110, 34)
    worn: Look = field(default_factory=look)
    act: Act = nothing
    is_new: bool = False


SITUATIONS: dict[str, Situation] = {
    "working-with-the-sidebar": Situation(working, (140, 42)),
    "working-with-the-sidebar-light": Situation(working, (140, 42), LIGHT),
    "working-in-120-columns": Situation(working, (120, 36)),
    "working-in-100-columns": Situation(working, (100, 36)),
    "working-in-80-columns": Situation(working, (80, 24)),
    "working-in-60-columns": Situation(working, (60, 30)),
    "working-in-40-columns-light": Situation(working, (40, 24), LIGHT),
    "working-in-160-columns-light": Situation(working, (160, 44), LIGHT),
    "working-in-16-colors-and-ascii": Situation(working, (120, 36), PLAIN),
    "working-without-colors": Situation(working, (120, 36), look(depth="none")),
    "working-in-256-colors": Situation(working, (140, 42), look(depth="256")),
    "sidebar-over-a-narrow-chat": Situation(working, (90, 30), DARK, press("ctrl+x", "b")),
    "sidebar-hidden-in-a-wide-window": Situation(working, (140, 36), DARK, press("ctrl+x", "b")),
    "first-press-of-escape": Situation(working, (110, 34), DARK, press("escape")),
    "rate-limited": Situation(retrying, (110, 34)),
    "refused-key-in-60-columns": Situation(refused, (60, 30)),
    "first-run-without-a-key": Situation(no_key, (102, 29), is_new=True),
    "first-run-without-a-key-light": Situation(no_key, (102, 29), LIGHT, is_new=True),
    "first-run-in-40-columns": Situation(no_key, (40, 24), is_new=True),
    "first-run-with-a-key": Situation(empty, (100, 30), is_new=True),
    "first-run-in-an-untrusted-folder": Situation(untrusted, (110, 34), is_new=True),
    "first-run-in-an-untrusted-folder-in-a-low-window": Situation(untrusted, (100, 25), is_new=True),
    "new-session-with-earlier-ones": Situation(idle, (140, 36), is_new=True),
    "permission-for-a-command": Situation(asks_bash, (110, 33), DARK, listen()),
    "permission-for-a-command-light": Situation(asks_bash, (110, 33), LIGHT, listen()),
    "permission-for-a-command-in-60-columns": Situation(asks_bash, (60, 30), DARK, listen()),
    "permission-in-16-colors-and-ascii": Situation(asks_bash, (100, 30), PLAIN, listen()),
    "permission-rejected-with-a-word": Situation(asks_bash, (110, 33), DARK, listen("n")),
    "command-that-needs-the-outside": Situation(asks_outside, (110, 30), DARK, listen()),
    "command-that-needs-the-outside-light": Situation(asks_outside, (140, 34), LIGHT, listen()),
    "command-that-needs-the-outside-in-60-columns": Situation(asks_outside, (60, 30), DARK, listen()),
    "command-whose-rule-is-edited": Situation(asks_outside, (110, 30), DARK, listen("e")),
    "command-that-discards-work": Situation(asks_to_discard, (110, 30), DARK, listen()),
    "command-that-the-sandbox-refused": Situation(asks_after_a_refusal, (110, 30), DARK, listen()),
    "command-that-the-sandbox-refused-light": Situation(asks_after_a_refusal, (60, 30), LIGHT, listen()),
    "command-that-made-protected-files": Situation(asks_about_protected_files, (110, 30), DARK, listen()),
    "command-where-no-sandbox-works": Situation(without_a_sandbox, (110, 30), DARK, listen()),
    "approvals-in-the-mode-auto": Situation(idle, (110, 30), DARK, press("shift+tab")),
    "approvals-in-the-mode-auto-in-60-columns": Situation(idle, (60, 30), LIGHT, press("shift+tab")),
    "permission-for-an-edit": Situation(asks_edit, (110, 35), DARK, listen()),
    "permission-for-an-edit-side-by-side": Situation(asks_edit, (160, 40), LIGHT, listen("d")),
    "permission-of-an-agents-session": Situation(asks_for_a_subagent, (110, 30), DARK, listen()),
    "question-of-the-agent": Situation(asks_a_question, (110, 30), DARK, listen("down")),
    "plan-that-is-ready": Situation(asks_to_build, (110, 30), DARK, listen()),
    "plan-that-is-ready-in-60-columns-light": Situation(asks_to_build, (60, 30), LIGHT, listen()),
    "undo-with-its-preview": Situation(undoing, (110, 38), DARK, asked("ctrl+x", "u")),
    "undo-with-its-preview-light": Situation(undoing, (110, 38), LIGHT, asked("ctrl+x", "u")),
    "undo-where-it-is-off": Situation(undoing_where_it_is_off, (110, 38), DARK, asked("ctrl+x", "u")),
    "undo-where-it-is-off-in-60-columns-light": Situation(
        undoing_where_it_is_off, (60, 30), LIGHT, asked("ctrl+x", "u")
    ),
    "first-run-where-undo-is-off": Situation(no_key_at_home, (102, 32), is_new=True),
    "commands": Situation(idle, (120, 36), DARK, press("ctrl+p", "c", "o", "m")),
    "commands-light": Situation(idle, (120, 36), LIGHT, press("ctrl+p", "c", "o", "m")),
    "commands-in-16-colors-and-ascii": Situation(idle, (100, 30), PLAIN, press("ctrl+p", "c", "o", "m")),
    "commands-in-60-columns": Situation(idle, (60, 30), DARK, press("ctrl+p")),
    "commands-that-match-nothing": Situation(idle, (100, 30), DARK, press("ctrl+p", "x", "q", "z")),
    "sessions-as-a-tree": Situation(working, (142, 36), DARK, press("ctrl+x", "l")),
    "sessions-filtered": Situation(working, (140, 36), LIGHT, press("ctrl+x", "l", "r", "e", "t", "r", "y")),
    "models": Situation(many_models, (110, 30), DARK, press("ctrl+t", "ctrl+x", "m")),
    "variant": Situation(many_models, (110, 30), DARK, press("ctrl+t")),
    "agents": Situation(idle, (110, 30), DARK, press("ctrl+x", "a")),
    "themes": Situation(idle, (110, 34), DARK, press("ctrl+x", "t", "n", "o", "r", "d")),
    "keys-in-force": Situation(idle, (110, 40), DARK, press("f1")),
    "context": Situation(context, (122, 39), DARK, press("ctrl+x", "i", *["down"] * 10)),
    "context-light-by-size": Situation(context, (122, 40), LIGHT, press("ctrl+x", "i", "s")),
    "changes-side-by-side": Situation(idle, (162, 34), DARK, press("ctrl+x", "d")),
    "changes-in-one-column-light": Situation(idle, (100, 30), LIGHT, press("ctrl+x", "d")),
    "timeline": Situation(undoing, (142, 36), DARK, press("ctrl+x", "g")),
    "timeline-in-100-columns-light": Situation(undoing, (100, 30), LIGHT, press("ctrl+x", "g")),
    "rename": Situation(idle, (110, 30), DARK, press("ctrl+p", "r", "e", "n", "a", "m", "e", "enter")),
    "delete": Situation(idle, (110, 30), DARK, asked("ctrl+p", "d", "e", "l", "e", "t", "e", "enter")),
    "find-in-the-conversation": Situation(idle, (110, 30), DARK, press("ctrl+x", "/", *"parse", "enter")),
    "find-in-the-conversation-light": Situation(idle, (110, 30), LIGHT, press("ctrl+x", "/", *"parse", "enter")),
    "find-in-60-columns": Situation(idle, (60, 30), DARK, press("ctrl+x", "/", *"parse", "enter", "n")),
    "export": Situation(idle, (110, 30), DARK, press("ctrl+x", "x")),
    "quit-while-it-works": Situation(working, (110, 34), DARK, asked("ctrl+x", "q")),
    "files-completed": Situation(idle, (110, 30), DARK, press(*"look", "space", "@", "p", "a")),
    "commands-completed": Situation(idle, (110, 30), LIGHT, press("/", "c", "o")),
    "a-prompt-of-many-lines": Situation(
        idle, (110, 36), DARK, write("\n".join(f"line {n} of what I want" for n in range(30)))
    ),
    "a-large-paste-as-an-attachment": Situation(idle, (110, 30), DARK, paste("row\n" * 119 + "row")),
    "wide-letters-in-the-prompt": Situation(
        idle, (80, 24), DARK, write("日本語の文章と 한국어 and é 👍 in one prompt")
    ),
}


def opened_app(situation: Situation) -> tuple[OpenCodeApp, Act]:
    """The app of a situation, and what brings it there once it runs; a picture for the README is made of it too."""
    script = situation.script()
    script.files = ["src/csvkit/parser.py", "src/csvkit/patch.py", "tests/test_parser.py", "docs/"]
    client = ScriptedClient(script)
    load_actions()
    options = StartOptions(script.directory, session_id=None if situation.is_new else SESSION)
    app = OpenCodeApp(options, situation.worn, clock=lambda: NOW_MS / 1000)

    async def act(pilot: Pilot[Any]) -> None:
        app.attach(as_client(client))
        await pilot.pause(0.3)
        await situation.act(pilot)
        await pilot.pause(0.1)

    return app, act


@pytest.mark.fast_cases("permission-for-a-command", "working-in-80-columns", "undo-with-its-preview", "models")
@pytest.mark.parametrize("name", SITUATIONS)
def test_look(name: str, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    situation = SITUATIONS[name]
    app, act = opened_app(situation)
    assert snap_compare(app, terminal_size=situation.size, run_before=act)
