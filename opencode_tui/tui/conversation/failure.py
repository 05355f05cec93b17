"""Draws a failed turn: what happened, what it means for the work, and the remedy.

Source: docs/internals/screen.md#numbers-and-words.
"""

import re
from typing import NamedTuple

from opencode_tui.schema.error import split_remedy
from opencode_tui.schema.session.stored_error import (
    ErrorWords,
    OverflowData,
    ProviderAuthData,
    StoredApiError,
    StoredAuthError,
    StoredError,
    StoredOutputLengthError,
    StoredOverflowError,
    StoredStructuredOutputError,
    StoredUnknownError,
    output_remedy,
)
from opencode_tui.text.cells import breaks, width
from opencode_tui.text.cost import plan_words
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.line import BODY, GUTTER, TEXT, Line, LineBuilder, RenderContext, joints, slice_spans
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import ErrorItem

STOPPED = "The turn stopped. Nothing is lost."
_STATUS = re.compile(r" ?\((?:HTTP )?(\d{3})\)")
_MISSING_MODEL = re.compile(
    r"model.{0,80}(?:not exist|not found|not supported|unsupported|unknown|invalid|deprecated|retired)"
    r"|(?:unknown|invalid|unsupported|no such|not found).{0,20}model",
    re.IGNORECASE,
)
_ONE_COMMAND = re.compile(r"run `([^`]+)`")
_OVERFLOW_LEAD = "context window: "
"""What older records have before the provider's reason."""

_TOO_LARGE = "The conversation exceeds the model's context window"
_SMALLER = "/compact, or switch to a larger model"
_LONG = 600
MAX_ROWS = 6


class Words(NamedTuple):
    """The texts for a failure: `detail` is the provider's message, `fix` a command or an action.

    `then` is whether the message can be sent again.
    """

    title: str
    code: str = ""
    detail: str = ""
    meaning: str = STOPPED
    fix: str = ""
    then: bool = True


def draw_failure(item: ErrorItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the lines of a failed turn."""
    words = words_of(item.error, item.provider, item.model)
    time = scene.time_words(item.time, page.width)
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
    lines += [line for text in (words.detail, words.meaning) if text for line in _wrapped(text, page)]
    if words.fix:
        lines += _labeled("Fix", words.fix, "", page)
    if words.then:
        lines += _labeled("Then", "press ", "up, enter", page, " to resend")
    return lines


def words_of(error: StoredError, provider: str, model: str = "") -> Words:
    """Return the texts for a stored error."""
    match error:
        case StoredAuthError() if plan_words(error.data.provider_id or provider):  # an account, not a key
            reason, remedy = split_remedy(error.data.message)
            return Words(_sentence(reason), fix=_command(remedy) or "/login")
        case StoredAuthError(data=ProviderAuthData(words=ErrorWords() as parts)):
            code = "" if parts.status is None else str(parts.status)
            return Words(_sentence(parts.title), code=code, detail=_line(parts.detail or ""), fix=_fix_of(parts))
        case StoredAuthError():
            return _refused_key(error.data.message, error.data.provider_id or provider)
        case StoredApiError():
            status = error.data.status_code
            text, _ = _without_status(error.data.message)
            title, remedy = split_remedy(text)
            fix = _command(remedy) or _api_fix(status, text)
            return Words(_sentence(title), code="" if status is None else str(status), fix=fix)
        case StoredOverflowError(data=OverflowData(words=ErrorWords() as parts)):
            return Words(_TOO_LARGE, detail=_line(parts.detail or ""), fix=_fix_of(parts) or _SMALLER)
        case StoredOverflowError():
            reason, remedy = split_remedy(_without_status(error.data.message)[0])
            return Words(
                _TOO_LARGE, detail=_line(reason.partition(_OVERFLOW_LEAD)[2]), fix=_command(remedy) or _SMALLER
            )
        case StoredOutputLengthError():
            fix = output_remedy(provider or "PROVIDER", model or "MODEL")
            return Words(
                "The response hit the model's output limit", meaning="Partial output was kept.", fix=fix, then=False
            )
        case StoredStructuredOutputError():
            return Words("The response did not match the requested schema", meaning=_sentence(error.data.message))
        case StoredUnknownError():
            return Words(_sentence(error.data.message))
        case _:
            return Words("The turn failed")


def _fix_of(parts: ErrorWords) -> str:
    return _command(parts.remedy or "")


def _refused_key(message: str, provider: str) -> Words:
    """Return the texts for a key that is missing or rejected, of an older record that has its sentence only.

    Even older ones have their remedy after the last semicolon.
    """
    text, code = _without_status(message)
    reason, remedy = split_remedy(text)
    if not remedy and "; " in text and "rejected the" in text:
        reason, _, remedy = text.rpartition("; ")
    login = f"opencode-tui auth login {provider}"
    title, is_rejected, detail = reason.partition(": ") if "rejected the" in reason else (reason, "", "")
    if not (is_rejected or code or re.search("refuse|invalid", text, re.IGNORECASE)):
        return Words(f"No API key for {provider}", fix=_command(remedy) or login)
    return Words(
        _line(title) if is_rejected else f"{provider} rejected the API key",
        code=code,
        detail=_line(detail),
        fix=_command(remedy) or login,
    )


def _command(remedy: str) -> str:
    """Return a remedy for the screen; one that is a single command without the words around it, so that it can be copied."""
    found = _ONE_COMMAND.fullmatch(remedy)
    return _line(found.group(1) if found else remedy)


def _without_status(message: str) -> tuple[str, str]:
    """Return an error's text without its HTTP status, and the status; empty without one."""
    found = _STATUS.search(message)
    return (message.replace(found[0], "", 1), found[1]) if found else (message, "")


def _api_fix(status: int | None, message: str) -> str:
    """Return the remedy; none where only the provider's message says what is wrong."""
    if status == 429:
        return "wait, or switch models (/models)"
    if status is None:
        return "check the network, or switch models (/models)"
    return "switch models (/models)" if status in (400, 404) and _MISSING_MODEL.search(message) else ""


def _line(text: str) -> str:
    return screen_line(" ".join(text.split())[:_LONG])


def _sentence(text: str) -> str:
    return _line(text) or "The turn failed"


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
