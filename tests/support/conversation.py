"""An app that holds nothing but the conversation, and histories that show each thing that is seen in it."""

from collections.abc import Iterable
from typing import Any

from textual.app import App, ComposeResult

from opencode_tui.schema.error import ApiData, ProviderAuthData, StoredApiError, StoredAuthError
from opencode_tui.schema.history import MessageWithParts, with_parts
from opencode_tui.schema.message import AssistantMessage, MessagePath, MessageTime, Tokens, UserMessage
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.part import (
    AnyPart,
    CompactionPart,
    PartTime,
    ReasoningPart,
    RetryPart,
    RetryTime,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.tool_state import (
    ToolStateCompleted,
    ToolStateError,
    ToolStatePending,
    ToolStateRunning,
    ToolTime,
)
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.glyphs import UNICODE, Glyphs
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.theme.palette import Depth
from opencode_tui.tui.transcript import Transcript

SESSION = "ses_test"
NOON = 1_766_750_400_000
"""2025-12-26 12:00 UTC; tests run in that zone."""

ROOT = "/p"


def look(*, dark: bool = True, depth: Depth = "truecolor", glyphs: Glyphs = UNICODE) -> Look:
    return Look(built_in(dark, depth), glyphs)


class ConversationApp(App[None]):
    """Shows a transcript in all of the screen; `now` is the clock's time in seconds. `asked` collects the view's requests."""

    ENABLE_COMMAND_PALETTE = False
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

    def on_event(self, event: Any) -> Any:
        if type(event).__module__.endswith("conversation.requests"):
            self.asked.append(event)
        return super().on_event(event)


class Story:
    """Builds a history message by message; times are minutes and seconds past twelve."""

    def __init__(self) -> None:
        self.messages: list[MessageWithParts] = []
        self._count = 0

    def user(self, text: str, at: str = "0", **fields: Any) -> MessageWithParts:
        info = UserMessage(
            id=self._id("msg"),
            session_id=SESSION,
            time=MessageTime(created=moment(at)),
            agent="build",
            model=ModelRef(provider_id="anthropic", model_id="claude-sonnet-4"),
            **fields,
        )
        part = TextPart(id=self._id("prt"), session_id=SESSION, message_id=info.id, text=text)
        return self._add(with_parts(info, [part]))

    def compaction(self, at: str, summary: str = "", *, before: int = 0, after: int = 0) -> None:
        marker = self.user("", at)
        marker.parts[:] = [CompactionPart(id=self._id("prt"), session_id=SESSION, message_id=marker.info.id, auto=True)]
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
        parent = next(one.info for one in reversed(self.messages) if isinstance(one.info, UserMessage))
        message_id = self._id("msg")
        completed = None if end is None else moment(end or at)
        info = AssistantMessage(
            id=message_id,
            session_id=SESSION,
            parent_id=fields.pop("parent_id", parent.id),
            model_id="claude-sonnet-4",
            provider_id="anthropic",
            mode=fields.pop("mode", "build"),
            path=MessagePath(cwd=ROOT, root=ROOT),
            time=MessageTime(created=moment(at), completed=completed),
            finish=None if end is None else finish,
            **fields,
        )
        made = [self._owned(part, message_id) for part in parts]
        return self._add(with_parts(info, made))

    def text(self, text: str, *, is_open: bool = False) -> TextPart:
        time = PartTime(start=NOON, end=None if is_open else NOON)
        return TextPart(**self._owner(), text=text, time=time)

    def thought(self, text: str, seconds: float = 4) -> ReasoningPart:
        return ReasoningPart(**self._owner(), text=text, time=PartTime(start=NOON, end=NOON + int(seconds * 1000)))

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
        time = ToolTime(start=NOON, end=NOON + int(seconds * 1000), compacted=NOON if pruned else None)
        state = ToolStateCompleted(input=given, output=result, title=title, metadata=metadata, time=time)
        return ToolPart(**self._owner(), call_id=self._id("call"), tool=tool, state=state)

    def running(self, tool: str, given: dict[str, Any], *, since: float = 12, **metadata: Any) -> ToolPart:
        state = ToolStateRunning(input=given, time=ToolTime(start=NOON - int(since * 1000)), metadata=metadata)
        return ToolPart(**self._owner(), call_id=self._id("call"), tool=tool, state=state)

    def pending(self, tool: str) -> ToolPart:
        return ToolPart(**self._owner(), call_id=self._id("call"), tool=tool, state=ToolStatePending())

    def failed(self, tool: str, given: dict[str, Any], error: str, *, seconds: float = 0) -> ToolPart:
        time = ToolTime(start=NOON, end=NOON + int(seconds * 1000))
        return ToolPart(
            **self._owner(),
            call_id=self._id("call"),
            tool=tool,
            state=ToolStateError(input=given, error=error, time=time),
        )

    def retry(self, at: str, *, status: int = 529, message: str = "Overloaded") -> RetryPart:
        error = StoredApiError(data=ApiData(message=message, status_code=status, is_retryable=True))
        return RetryPart(**self._owner(), attempt=1, error=error, time=RetryTime(created=moment(at)))

    def transcript(self, **fields: Any) -> Transcript:
        transcript = Transcript(SESSION)
        transcript.load(self.messages, **fields)
        return transcript

    def _owned(self, part: AnyPart | str, message_id: str) -> AnyPart:
        part = self.text(part) if isinstance(part, str) else part
        return part.changed(message_id=message_id)

    def _owner(self) -> dict[str, Any]:
        return {"id": self._id("prt"), "session_id": SESSION, "message_id": ""}

    def _add(self, message: MessageWithParts) -> MessageWithParts:
        self.messages.append(message)
        return message

    def _id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:012x}00000000000000"


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


def chat_dark() -> Transcript:
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
    story.answer(
        [
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
        ],
        at="4",
        finish="tool-calls",
    )
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
    from opencode_tui.schema.status import BusyStatus

    return story.transcript(status=BusyStatus())


def chat_light() -> Transcript:
    """The picture `chat-light`: an answer while it streams."""
    story = Story()
    story.user("The last row of every CSV is dropped. Find out why and fix it.", "4")
    answer = """\
## What was wrong

`rows_from()` stopped one short of the end. The fixtures hid it, because each ends with a newline and the lost line was the empty one.

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
    from opencode_tui.schema.status import BusyStatus

    return story.transcript(status=BusyStatus())


def compaction_and_retry() -> Transcript:
    """The picture `compaction-and-retry`."""
    story = Story()
    story.user("Find the slow test.", "30")
    story.answer(
        [story.failed("bash", {"command": "pytest -q --count 50"}, "Tool execution aborted", seconds=72)],
        at="31",
        tokens=Tokens(input=148_000),
    )
    story.compaction("41", "## Goal\n\nFix the parser.", before=148_000, after=21_000)
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
    return story.transcript()


def errors() -> Transcript:
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
    return story.transcript()
