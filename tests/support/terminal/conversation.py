"""An app that holds nothing but the conversation, and histories that show each thing that is seen in it."""

from collections.abc import Iterable
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message

from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import PermissionRequest, ToolCallRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import MessagePath, MessageTime, Tokens, UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    PartTime,
    ReasoningPart,
    RetryPart,
    RetryTime,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import AnyStatus, BusyStatus, IdleStatus
from opencode_tui.schema.session.stored_error import (
    ApiData,
    MessageData,
    OverflowData,
    ProviderAuthData,
    StoredApiError,
    StoredAuthError,
    StoredOutputLengthError,
    StoredOverflowError,
    StoredUnknownError,
    aborted,
)
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.state.transcript import Transcript
from opencode_tui.tui.theme.look import UNICODE, Depth, Glyphs, Look, built_in
from tests.support.sessions import records
from tests.support.sessions.records import SESSION

MODEL = ModelRef(provider_id="anthropic", model_id="claude-sonnet-4")
NOON = 1_766_750_400_000
"""2025-12-26 12:00 UTC; tests run in that zone."""

ROOT = "/p"


def look(*, dark: bool = True, depth: Depth = "truecolor", glyphs: Glyphs = UNICODE) -> Look:
    return Look(built_in(dark, depth), glyphs)


KEYMAP = Keymap()


class ConversationApp(App[None]):
    """Shows a transcript in all of the screen; `now` is the clock's time in seconds. `asked` collects the view's requests."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    CSS = "Screen { layout: vertical; }"

    def __init__(self, transcript: Transcript, look: Look, *, now: float = NOON / 1000, **options: Any) -> None:
        super().__init__(ansi_color=look.palette.depth in ("16", "none"))
        self.look = look
        self.now = now
        self.asked: list[object] = []
        self.view = ConversationView(transcript, root=ROOT, clock=lambda: self.now, **options)

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.screen.styles.background = self.look.palette.background or "ansi_default"

    def on_key(self, event: events.Key) -> None:
        """Run the action of a key on the focused item, as the screen does."""
        found = next(iter(KEYMAP.actions(event.key, ("item",))), None)
        if found is not None and self.view.has_focus:
            self.view.run(found.id)

    def post_message(self, message: Message) -> bool:
        if type(message).__module__.endswith("conversation.requests"):
            self.asked.append(message)
        return super().post_message(message)


class Story:
    """A history that grows message by message; times are minutes and seconds past twelve."""

    def __init__(self) -> None:
        self.messages: list[MessageWithParts] = []
        self.status: AnyStatus = IdleStatus()

    def user(self, text: str, at: str = "0", **fields: Any) -> MessageWithParts:
        time = MessageTime(created=moment(at))
        return self._add(records.user(text, time=time, model=MODEL, **fields))

    def compaction(self, at: str, summary: str = "", *, before: int = 0, after: int = 0) -> None:
        self._add(records.user(records.compaction(), time=MessageTime(created=moment(at)), model=MODEL))
        if summary:
            self.answer([summary], at=at, summary=True, mode="compaction", tokens=Tokens(input=before, output=after))

    def answer(
        self,
        parts: Iterable[AnyPart | str],
        *,
        at: str = "0",
        end: str | None = "",
        finish: str | None = "stop",
        **fields: Any,
    ) -> MessageWithParts:
        parent = next(one for one in reversed(self.messages) if isinstance(one.info, UserMessage))
        answer = records.assistant(
            *(self.text(part) if isinstance(part, str) else part for part in parts),
            parent=parent,
            time=MessageTime(created=moment(at), completed=None if end is None else moment(end or at)),
            finish=None if end is None else finish,
            **{
                "path": MessagePath(cwd=ROOT, root=ROOT),
                "provider_id": "anthropic",
                "model_id": "claude-sonnet-4",
                **fields,
            },
        )
        return self._add(answer)

    def text(self, text: str, *, is_open: bool = False) -> TextPart:
        return records.text(text, time=PartTime(start=NOON, end=None if is_open else NOON))

    def thought(self, text: str, seconds: float = 4) -> ReasoningPart:
        return records.reasoning(text, start=NOON, end=_after(seconds))

    def tool(
        self,
        tool: str,
        given: dict[str, Any],
        result: str = "",
        *,
        seconds: float = 0,
        title: str = "",
        pruned: bool = False,
        **metadata: Any,
    ) -> ToolPart:
        return _call(
            tool, given=given, output=result, title=title, details=metadata, end=_after(seconds), pruned=pruned
        )

    def running(self, tool: str, given: dict[str, Any], *, since: float = 12, **metadata: Any) -> ToolPart:
        return _call(tool, status="running", given=given, start=_after(-since), details=metadata)

    def pending(self, tool: str) -> ToolPart:
        return _call(tool, status="pending")

    def failed(self, tool: str, given: dict[str, Any], error: str, *, seconds: float = 0) -> ToolPart:
        return _call(tool, status="error", given=given, output=error, end=_after(seconds))

    def retry(self, at: str, *, status: int | None = 529, message: str = "Overloaded") -> RetryPart:
        error = StoredApiError(data=ApiData(message=message, status_code=status, is_retryable=True))
        return RetryPart(**records.owner(), attempt=1, error=error, time=RetryTime(created=moment(at)))

    def transcript(self, **fields: Any) -> Transcript:
        transcript = Transcript(SESSION)
        fields.setdefault("status", self.status)
        transcript.load(self.messages, **fields)
        return transcript

    def _add(self, message: MessageWithParts) -> MessageWithParts:
        self.messages.append(message)
        return message


def _call(tool: str, *, start: int = NOON, **fields: Any) -> ToolPart:
    return records.call(records.new_id("call"), tool, start=start, **fields)


def _after(seconds: float) -> int:
    return NOON + int(seconds * 1000)


def moment(at: str) -> int:
    """`4` is 12:04, `4:30` half a minute later."""
    minutes, _, seconds = at.partition(":")
    return NOON + int(minutes) * 60_000 + int(seconds or 0) * 1000


def refused_key() -> StoredAuthError:
    return StoredAuthError(data=ProviderAuthData(provider_id="anthropic", message="anthropic refused the key (401)"))


EDIT = """\
--- a/src/csvkit/parser.py
+++ b/src/csvkit/parser.py
@@ -39,4 +39,4 @@
 def rows_from(text: str) -> Iterator[Row]:
     lines = text.splitlines()
-    for i in range(len(lines) - 1):
+    for i in range(len(lines)):
         yield parse(lines[i])  # one line, one row
"""


def edit(
    story: Story, path: str = "src/csvkit/parser.py", diff: str = EDIT, added: int = 1, removed: int = 1
) -> ToolPart:
    return story.tool(
        "edit",
        {"filePath": f"{ROOT}/{path}"},
        f"Edited {path}.",
        title=path,
        diff=diff,
        filediff={"file": path, "additions": added, "deletions": removed},
    )


def read(story: Story, path: str, lines: int) -> ToolPart:
    output = "\n".join(f"{number}: x" for number in range(1, lines + 1))
    return story.tool("read", {"filePath": f"{ROOT}/{path}"}, output, title=path)


def _mend_last_row(story: Story) -> list[str | AnyPart]:
    return [
        story.thought("The loop may end too early."),
        read(story, "src/csvkit/parser.py", 180),
        story.tool(
            "task",
            {"subagent_type": "explore", "description": "find CSV tests"},
            "report",
            seconds=9,
            sessionId="ses_child",
            tools=["grep"] * 5,
        ),
        "`rows_from()` loops over `range(len(lines) - 1)`, so the last line never reaches the parser. Every fixture ends with "
        "a newline, which is why no test noticed. I will write a test that fails first, then move the bound.",
        story.tool(
            "write",
            {"filePath": f"{ROOT}/tests/test_last_row.py"},
            "",
            title="tests/test_last_row.py",
            exists=False,
            filediff={"additions": 17, "deletions": 0},
        ),
        story.tool(
            "bash",
            {"command": "pytest -q tests/test_last_row.py"},
            "",
            seconds=1.4,
            output="F\n=== 1 failed in 0.2s ===\n",
            exit=1,
        ),
        edit(story),
    ]


def chat_dark() -> Story:
    """The picture `chat-dark`."""
    story = Story()
    story.user("Which function turns the text into rows?", "1")
    story.answer(
        [
            "`rows_from()` in `src/csvkit/parser.py`, lines 39 to 58. It splits the text and parses each line on its own."
        ],
        at="1",
        end="1:06",
        cost=0.01,
    )
    story.user("The last row of every CSV is dropped. Find out why and fix it.", "4")
    story.answer(_mend_last_row(story), at="4", finish="tool-calls")
    story.answer(
        [
            story.running(
                "bash",
                {"command": "pytest -q"},
                output="tests/test_dialect.py ............\ntests/test_last_row.py .\ntests/test_parser.py ....................\n",
            ),
        ],
        at="5",
        end=None,
    )
    story.user("Also add a line to the changelog.", "6")
    story.status = BusyStatus()
    return story


def chat_light() -> Story:
    """The picture `chat-light`: an answer while it streams."""
    story = Story()
    story.user("The last row of every CSV is dropped. Find out why and fix it.", "4")
    answer = """\
## What was wrong

`rows_from()` stopped one short of the end. The fixtures hid it, because each ends with a newline and the lost line was \
the empty one.

- The loop now runs over every line.
- `tests/test_last_row.py` fails without the fix and passes with it.
- No other caller relied on the old bound; `writer.py` has its own loop.

```python
from csvkit import rows_from

assert len(list(rows_from("a,b\\n1,2"))) == 2
```

One thing is left: the changelog has no entry for this y"""
    story.answer(
        [
            story.thought("The loop may end too early."),
            read(story, "src/csvkit/parser.py", 180),
            edit(story),
            story.tool("bash", {"command": "pytest -q"}, "", seconds=18, output="=== 214 passed in 17s ===", exit=0),
            story.text(answer, is_open=True),
        ],
        at="4",
        end=None,
    )
    story.status = BusyStatus()
    return story


def compaction_and_retry() -> Story:
    """The picture `compaction-and-retry`."""
    story = Story()
    story.user("Find the slow test.", "30")
    story.answer(
        [story.failed("bash", {"command": "pytest -q --count 50"}, "Tool execution aborted", seconds=72)],
        at="30",
        end="31",
        tokens=Tokens(input=148_000),
    )
    story.compaction("41", "## Goal\n\nFix the parser.", before=148_000, after=2_000)
    story.user("Now make the dialect sniffer handle a lone quote.", "43")
    story.answer(
        [
            story.tool(
                "read",
                {"filePath": f"{ROOT}/tests/data/large.csv"},
                "x" * 48_000,
                title="tests/data/large.csv",
                pruned=True,
            ),
            story.tool("grep", {"pattern": "quote", "path": f"{ROOT}/src/"}, "x" * 12_000, pruned=True),
            edit(story, "src/csvkit/sniff.py", "", 6, 2),
            "A lone quote now counts as text, unless a second one closes it on the same line.",
        ],
        at="43",
        end="44:50",
        tokens=Tokens(input=21_000),
        cost=0.07,
    )
    story.user("Why does the sniffer read the file twice?", "52")
    story.answer(
        [
            read(story, "src/csvkit/io.py", 88),
            story.retry("52:04"),
            story.retry("52:09"),
            "The first pass counts quotes, the second one counts commas. One pass can do both.",
        ],
        at="52",
        end="52:14",
        cost=0.02,
    )
    story.user("Then read it once.", "58")
    diff = """\
--- a/src/csvkit/sniff.py
+++ b/src/csvkit/sniff.py
@@ -31,3 +31,3 @@
     for line in sample:
-        quotes += line.count(quote)
+        quotes, commas = quotes + line.count(quote), commas + line.count(",")
     return quotes, commas
"""
    story.answer([story.thought("One pass.", 6), edit(story, "src/csvkit/sniff.py", diff, 3, 9)], at="58", end=None)
    return story


def errors() -> Story:
    """The picture `error-and-narrow`."""
    story = Story()
    story.user("The last row of every CSV is dropped. Find out why and fix it.", "4")
    output = "\n".join(["."] * 41 + ["tests/conftest.py:4: ImportError", "No module named 'hypothesis'"])
    story.answer(
        [
            read(story, "src/csvkit/parser.py", 180),
            story.failed(
                "edit",
                {"filePath": f"{ROOT}/src/csvkit/parsr.py"},
                "No such file. Nothing was changed.\nNearest: src/csvkit/parser.py",
            ),
            edit(story, diff=""),
            story.tool("bash", {"command": "pytest -q"}, "", seconds=3, output=output, exit=2),
            "The tests cannot start: hypothesis is missing. I will install it with the test extras.",
        ],
        at="4",
        finish="tool-calls",
    )
    story.answer([], at="62", error=refused_key())
    return story


def revert_preview() -> Story:
    """The history of the pictures `revert-preview` and `reverted-stretch`."""
    story = chat_dark()
    del story.messages[-2:]
    story.status = IdleStatus()
    return story


def every_tool() -> Story:
    """One call of each tool, done."""
    story = Story()
    story.user("Use every tool once.", "1")
    todos = [
        {"content": "Reproduce with a failing test", "status": "completed"},
        {"content": "Run the whole test suite", "status": "in_progress"},
        {"content": "Add a changelog entry", "status": "pending"},
        {"content": "Rewrite it all", "status": "cancelled"},
    ]
    first = f"{ROOT}/src/a.py:\n  Line 4: for i in range(len(x)):\n  Line 90: range(len(y))"
    found = f"Found 3 matches\n\n{first}\n\n{ROOT}/b.py:\n  Line 7: range(len(z))"
    patch = EDIT + EDIT.replace("parser.py", "writer.py")
    files = [{"relativePath": f"src/{name}.py", "additions": 1, "deletions": 1} for name in ("parser", "writer")]
    asked = [{"question": "Which database?"}, {"question": "Keep the old one?"}]
    story.answer(
        [
            read(story, "src/csvkit/parser.py", 180),
            story.tool("list", {"path": ROOT}, "src/\ntests/", title=".", count=14),
            story.tool("glob", {"pattern": "**/*.py"}, "a.py\nb.py", count=1),
            story.tool("grep", {"pattern": "range(len", "path": f"{ROOT}/src/"}, found, matches=3),
            story.tool("webfetch", {"url": "https://docs.example/csv"}, "# CSV\n\nText.", seconds=2),
            story.tool("skill", {"name": "release"}, "Steps."),
            story.tool("recall", {"call_id": "call_7"}, "old output"),
            story.tool(
                "task",
                {"subagent_type": "explore", "description": "find CSV tests"},
                "report",
                tools=["grep"],
                sessionId="s",
            ),
            story.tool("question", {"questions": asked[:1]}, answers=[["PostgreSQL"]]),
            story.tool("question", {"questions": asked}, answers=[["PostgreSQL"], ["no"]]),
            story.tool("apply_patch", {}, diff=patch, files=files),
            story.tool("forecast_weather", {"query": "tomorrow"}, "rain"),
            story.tool("bash", {"command": "make all\nmake test"}, seconds=125, output="ok", exit=0),
            story.tool("todowrite", {}, "[]", todos=todos),
        ],
        at="1",
        end="4",
        cost=0.3,
    )
    return story


def every_state() -> Story:
    """Calls that wait, ask, run, failed, were interrupted or pruned."""
    story = Story()
    story.user("Clean the build folders.", "1")
    story.answer(
        [
            story.tool("bash", {"command": "pytest -q"}, seconds=3, output="1 failed in 2s", exit=1),
            story.tool("bash", {"command": "sleep 100"}, seconds=20, output="", exit=None),
            story.failed("read", {"filePath": f"{ROOT}/gone.py"}, "No such file: gone.py\nNearest: done.py"),
            story.failed("bash", {"command": "make"}, "Tool execution aborted", seconds=4),
            story.tool("read", {"filePath": f"{ROOT}/big.csv"}, "x" * 50_000, title="big.csv", pruned=True),
            story.running(
                "task", {"subagent_type": "explore", "description": "find CSV tests"}, tools=["read", "grep", "bash"]
            ),
            story.running("bash", {"command": "rm -rf build dist"}, since=2),
            story.running("bash", {"command": "python -m csvkit --version"}, since=2),
            story.pending("write"),
        ],
        at="1",
        end=None,
    )
    story.status = BusyStatus()
    return story


def requests_of(story: Story, *commands: str) -> list[PermissionRequest]:
    """Return open requests for the story's commands."""
    calls = [part for message in story.messages for part in message.parts if isinstance(part, ToolPart)]
    return [
        PermissionRequest(
            id=f"per_{number}",
            session_id=SESSION,
            permission="bash",
            patterns=["*"],
            tool=ToolCallRef(message_id=part.message_id, call_id=part.call_id),
        )
        for number, command in enumerate(commands)
        for part in calls
        if part.state.input.get("command") == command
    ]


MARKDOWN = """\
# A heading

Prose with **bold**, *italic*, `code`, [a link](https://docs.example/a) and https://plain.example/b. It goes on until it wraps \
somewhere near the right edge of the page.

1. first
2. second with a rather long text that has to wrap below its own first word, not below the number
   - nested
     - deeper
10. tenth

> quoted **words** that are somebody else's
> in two lines

| file | rows | what it is |
|:-----|-----:|:----------:|
| `parser.py` | 120 | reads |
| writer.py | 9 | writes |

---

日本語の文章は空白なしで折り返される必要がありますので、長い行を書いておきます。絵文字👍も한국어も混ざっています。

```js
const answer = 42; // the usual
```

    indented code

A snake_case_name, 2 * 3 * 4 and <b>tags</b> stay as they are."""


def markdown() -> Story:
    """An answer with everything that markdown has."""
    story = Story()
    story.user("日本語で聞きます。👍 どうですか?\nsecond line", "1")
    story.answer([story.thought("I should **think**.\n\n- a\n- b"), MARKDOWN], at="1", end="1:12", cost=0.004)
    return story


TASKS = """\
Two of three steps are done, ~~the last one~~ the changelog is left:

- [x] Reproduce it with a failing test
- [x] Move the bound of the loop
  - [x] in the parser
- [ ] Add a line to the changelog, which says what a user notices of this and how a file without a newline is read
  now

```diff
--- a/src/csvkit/parser.py
+++ b/src/csvkit/parser.py
@@ -41,2 +41,2 @@ def rows_from(text):
-    for i in range(len(lines) - 1):
+    for i in range(len(lines)):
         yield parse(lines[i])
```

![timings before and after](docs/timings.png)"""


def tasks() -> Story:
    """A response with tasks, a struck text, a change and an image."""
    story = Story()
    story.user("What is left?", "1")
    story.answer([TASKS], at="1", end="1:12", cost=0.004)
    story.user("Do it.", "2")
    return story


def failures() -> Story:
    """Each way in which a turn fails."""
    story = Story()
    errors = [
        refused_key(),
        StoredAuthError(data=ProviderAuthData(provider_id="openai", message="no key for openai")),
        StoredApiError(
            data=ApiData(message="anthropic is overloaded; still failing after 8 attempts", status_code=529)
        ),
        StoredApiError(data=ApiData(message="the connection to http://localhost:11434 was refused")),
        StoredOverflowError(data=OverflowData(message="too long")),
        StoredOutputLengthError(),
        StoredUnknownError(data=MessageData(message="disk full: /home/x cannot be written; free some space")),
    ]
    for number, error in enumerate(errors):
        story.user(f"Request {number}", str(number))
        story.answer([], at=str(number), error=error)
    story.user("And stop", "9")
    story.answer(["Half an ans"], at="9", error=aborted())
    return story
