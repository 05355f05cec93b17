"""Draws a failed turn: what happened, what it means for the work, and the remedy. Source: design, visual, section 8."""

import re

from opencode_tui.schema.session.stored_error import (
    StoredApiError,
    StoredAuthError,
    StoredError,
    StoredOutputLengthError,
    StoredOverflowError,
    StoredStructuredOutputError,
    StoredUnknownError,
)
from opencode_tui.text.cells import breaks, width
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.render import (
    BODY,
    GUTTER,
    TEXT,
    Line,
    LineBuilder,
    RenderContext,
    joints,
    slice_spans,
)
from opencode_tui.tui.conversation.user import clock
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import ErrorItem

STOPPED = "The turn stopped. Nothing is lost."
_STATUS = re.compile(r"\b([45]\d\d)\b")
_LONG = 600
MAX_ROWS = 6


class Words:
    """The texts for a failure: `fix` is a command or an action, `then` is whether the message can be sent again."""

    __slots__ = ("code", "fix", "meaning", "then", "title")

    def __init__(self, title: str, *, code: str = "", meaning: str = STOPPED, fix: str = "", then: bool = True) -> None:
        self.title = title
        self.code = code
        self.meaning = meaning
        self.fix = fix
        self.then = then


def draw_failure(item: ErrorItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the lines of a failed turn."""
    words = words_of(item.error, item.provider)
    time = clock(item.time)
    code = f" ({words.code})" if words.code else ""
    room = page.room - width(time) - 2
    title = [words.title[start:end] for start, end in breaks(words.title, room - width(code))]
    if len(title) > MAX_ROWS:
        title = [*title[: MAX_ROWS - 1], title[MAX_ROWS - 1] + page.look.glyphs.ellipsis]
    lines: list[Line] = []
    for number, text in enumerate(title):
        pen = LineBuilder(page)
        if not number:
            pen.move(GUTTER).put(page.look.glyphs.failed, page.style("error", bold=True))
        pen.move(TEXT).begin_copy().put(text, page.style("error", bold=True))
        if number == len(title) - 1:
            pen.put(code, page.style("muted"))
        if not number:
            pen.move(page.right + 1 - width(time)).put(time, page.style("muted"))
        lines.append(pen.line())
    lines += _wrapped(words.meaning, page)
    if words.fix:
        lines += _labeled("Fix", words.fix, "", page)
    if words.then:
        lines += _labeled("Then", "press ", "up, enter", page, " to resend")
    return lines


def words_of(error: StoredError, provider: str) -> Words:
    """Return the texts for a stored error."""
    match error:
        case StoredAuthError():
            name = error.data.provider_id or provider
            found = _STATUS.search(error.data.message)
            if (
                found is None
                and "refuse" not in error.data.message.lower()
                and "invalid" not in error.data.message.lower()
            ):
                return Words(f"No API key for {name}", fix=f"opencode-tui auth login {name}")
            return Words(
                f"{name} rejected the API key", code=found[1] if found else "", fix=f"opencode-tui auth login {name}"
            )
        case StoredApiError():
            status = error.data.status_code
            return Words(
                _sentence(error.data.message), code="" if status is None else str(status), fix=_api_fix(status)
            )
        case StoredOverflowError():
            return Words(
                "The conversation exceeds the model's context window", fix="/compact, or switch to a larger model"
            )
        case StoredOutputLengthError():
            return Words("The response hit the model's output limit", meaning="Partial output was kept.", then=False)
        case StoredStructuredOutputError():
            return Words("The response did not match the requested schema", meaning=_sentence(error.data.message))
        case StoredUnknownError():
            return Words(_sentence(error.data.message))
        case _:
            return Words("The turn failed")


def _api_fix(status: int | None) -> str:
    if status == 429:
        return "wait, or switch models (/models)"
    if status is None:
        return "check the network, or switch models (/models)"
    return "switch models (/models)" if status in (400, 404) else ""


def _sentence(text: str) -> str:
    head = " ".join(text.split())[:_LONG]
    return screen_line(head) or "The turn failed"


def _wrapped(text: str, page: RenderContext) -> list[Line]:
    return [
        LineBuilder(page).move(TEXT).begin_copy().put(text[start:end], page.style("text")).line()
        for start, end in breaks(text, page.room)
    ]


def _labeled(label: str, before: str, key: str, page: RenderContext, after: str = "") -> list[Line]:
    """Return a remedy after its label; it is wrapped, never cut, so that it can be copied."""
    text, plain = before + key + after, page.style("text")
    cuts = breaks(text, page.right - BODY + 1)
    spans = slice_spans([(before, plain), (key, page.style("accent", bold=True)), (after, plain)], cuts)
    lines: list[Line] = []
    for row, joint in zip(spans, joints(text, cuts), strict=True):
        pen = LineBuilder(page)
        if not lines:
            pen.move(TEXT).put(label, page.style("muted"))
        lines.append(pen.move(BODY).begin_copy().put_all(row).line(joint=joint))
    return lines
