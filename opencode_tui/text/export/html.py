"""A session as one page of HTML that needs nothing else: readable without script and without a network.

The page is made piece by piece, so that a long session needs no memory for its page. A browser that shows it may load and run
nothing (its content security policy); the page of a share server adds one script of its own, which brings new messages.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import describe_stored
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.export.markup import Budget, attribute, escape
from opencode_tui.text.export.parts import part_html
from opencode_tui.text.quantity import amount, duration, money, plural

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do with the page: use its styles, and show the pictures that it contains."""

_RECORD = 150
"""Bytes of a stored part besides its text, at least; markup may use as many."""

_LISTED = 70


class Live(Struct, frozen=True):
    """A page that follows its session: the address of the events, and the nonce of its script."""

    events: str
    nonce: str


def session_page(info: SessionInfo, messages: Sequence[MessageWithParts], live: Live | None = None) -> Iterator[str]:
    """Yield the page of a session in pieces."""
    budget = Budget()
    title = attribute(" ".join(info.title.split()) or "Session")
    yield '<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">'
    if live is None:  # a server sends the policy, with the nonce, as a header
        yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield f'<meta name=referrer content=no-referrer><meta name=color-scheme content="dark light"><title>{title}</title>'
    yield f"<style>{_asset('page.css')}</style></head><body>"
    yield _contents(messages)
    yield f"<main><header id=top>{head_html(info, messages)}</header><div id=log>"
    for message in messages:
        yield message_html(message, info.directory, budget)
    yield "</div>"
    if live is not None:
        yield "<p id=live role=status>Connecting …</p>"
    yield "<footer>Made with opencode-tui</footer></main>"
    if live is not None:
        yield f'<script nonce="{attribute(live.nonce)}" data-events="{attribute(live.events)}">{_asset("live.js")}</script>'
    yield "</body></html>\n"


def head_html(info: SessionInfo, messages: Iterable[MessageWithParts]) -> str:
    """Return the title and the figures of a session."""
    count, read, written, cost, models = 0, 0, 0, 0.0, dict[str, None]()
    for message in messages:
        count += 1
        if isinstance(message.info, AssistantMessage):
            read += message.info.tokens.prompt
            written += message.info.tokens.written
            cost += message.info.cost
            models[f"{message.info.provider_id}/{message.info.model_id}"] = None
    facts = [_moment(info.time.created), plural(count, "message"), *list(models)[:3]]
    if read or written:
        facts.append(f"{amount(read)} tokens in, {amount(written)} out")
    if cost:
        facts.append(money(cost))
    if info.summary is not None and info.summary.files:
        facts.append(f"{plural(info.summary.files, 'file')} +{info.summary.additions} −{info.summary.deletions}")
    listed = "".join(f"<li>{escape(fact)}" for fact in facts)
    return f"<h1>{escape(' '.join(info.title.split()))}</h1><p class=w>{escape(info.directory)}</p><ul class=f>{listed}</ul>"


def message_html(message: MessageWithParts, root: str, budget: Budget | None = None) -> str:
    """Return one message; empty for one without anything to show."""
    budget = budget or Budget()
    info = message.info
    is_user = isinstance(info, UserMessage)
    body = "".join(part_html(part, is_user=is_user, root=root, budget=budget) for part in message.parts)
    error = info.shown_error if isinstance(info, AssistantMessage) else None
    if error is not None and isinstance(info, AssistantMessage):
        body += f"<p class=x>{escape(describe_stored(error, info.provider_id, info.model_id))}</p>"
    made = f"<section id=m-{_name(info.id)} class={'u' if is_user else 'a'}>"
    if body:
        made += f"<h2>{_heading(info)}</h2>{body}"
    made += "</section>\n"
    budget.spare += _RECORD * (2 + len(message.parts)) + sum(map(_size, message.parts)) - len(made)
    return made


def _heading(info: UserMessage | AssistantMessage) -> str:
    time = f"<time>{_moment(info.time.created)}</time>"
    if isinstance(info, UserMessage):
        return f"You {time}"
    end = info.time.completed
    took = (
        f" · {duration((end - info.time.created) / 1000)}"
        if end is not None and end - info.time.created >= 1000
        else ""
    )
    return f"{escape((info.agent or info.mode).capitalize())} <span>{escape(info.model_id)}{took}</span> {time}"


def _contents(messages: Sequence[MessageWithParts]) -> str:
    """Return the list of prompts with their places; empty for fewer than three."""
    lines: list[str] = []
    for message in messages:
        if isinstance(message.info, UserMessage):
            texts = (part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
            words = " ".join(next(texts, "").split())
            if words:
                cut = words if len(words) <= _LISTED else words[: _LISTED - 1] + "…"
                lines.append(f"<li><a href=#m-{_name(message.info.id)}>{escape(cut)}</a>")
    if len(lines) < 3:
        return "<nav></nav>"
    return (
        f"<nav><details open><summary>{plural(len(lines), 'prompt')}</summary><ol>{''.join(lines)}</ol></details></nav>"
    )


def _size(part: AnyPart) -> int:
    """Return the characters of a part that a reader sees; a change is stored more than once."""
    if isinstance(part, ToolPart):
        state = part.state
        given = sum(len(value) for value in state.input.values() if isinstance(value, str))
        match state:
            case ToolStateCompleted():
                return (
                    given + len(state.output) + sum(len(one) for one in state.metadata.values() if isinstance(one, str))
                )
            case ToolStateError():
                return given + len(state.error)
            case _:
                return given
    text: str = getattr(part, "text", "") or getattr(part, "url", "") or ""
    return len(text)


def _name(record_id: str) -> str:
    """Return an id for an attribute without quotes; a foreign one loses its other characters."""
    return "".join(one for one in record_id if one.isascii() and (one.isalnum() or one in "_-"))


def _moment(time_ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, tz=UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):  # a foreign record with a time beyond the calendar
        return "?"


def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").strip()
