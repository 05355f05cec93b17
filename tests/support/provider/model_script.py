"""What the scripted model answers: answers written by a test, or read from directives in the prompt.

Directives are part of the last user message, so that a user (or a test that only has a command line) steers the model with words:

    <<tool NAME {json}>>      call a tool; several directives are one step each, in order
    <<par>>                   put all tool directives into one step
    <<slow MS>>               wait before every delta
    <<words N>>               answer with N numbered words
    <<reason TEXT>>           think aloud first
    <<usage IN OUT [CACHED]>> the usage to report
    <<finish REASON>>         the finish reason to report
    <<error STATUS TEXT>>     fail every request with that status
    <<flaky STATUS SECONDS>>  fail the first request of this prompt with Retry-After, answer the next
    <<fault KIND>>            drop, reset or stall after the second delta
    <<anew>>                  ignore all text before it: an earlier unanswered request is part of the same message

Without directives the answer is `Echo: TEXT`; after tool steps `Done: TEXT | tool: LAST RESULT`.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.support.provider.chat_view import as_chat

Api = Literal["openai", "responses", "anthropic", "gemini"]
Fault = Literal["drop", "reset", "stall"]

_LONG = 10_000
"""Characters of a text whose single words would cost a test more than what it claims."""

_DIRECTIVE = re.compile(r"<<(tool|par|slow|words|reason|usage|finish|error|flaky|fault)\b\s*(.*?)>>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_LATE = re.compile(
    r"<system-reminder>\s*The user sent the following message:\s*(.*?)\s*Please address this message and continue with your tasks\."
    r"\s*</system-reminder>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the scripted model; `arguments` may be a broken JSON text on purpose."""

    tool: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    def raw(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: what it says, how fast, and how it breaks.

    `delta_size` is characters a delta (0: word by word, and by 1,000 characters in a long text that nothing delays).
    `usage` is (input, output, cached). `fault` strikes after `fault_after` pieces. `holds` are words, each with the event
    that lets go the delta which carries it. `chunks` replaces everything: these bytes are written one by one as the body.
    `body` is a whole body for `status`.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    usage: tuple[int, int, int] | None = None
    finish: str | None = None
    delay_ms: float = 0
    delta_size: int = 0
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    chunks: tuple[bytes, ...] | None = None
    fault: Fault | None = None
    fault_after: int = 2
    holds: tuple[tuple[str, threading.Event], ...] = ()
    is_gzip: bool = False
    is_burst: bool = False

    def deltas(self, text: str) -> list[str]:
        """Return a text cut into what one delta carries."""
        size = self.delta_size
        if not (size or self.delay_ms or self.holds or self.fault) and len(text) > _LONG:
            size = 1_000
        if size:
            return [text[at : at + size] for at in range(0, len(text), size)]
        return re.findall(r"\S+\s*|^\s+", text)


def failure(status: int, message: str, *, kind: str = "scripted", retry_after: str | None = None) -> Answer:
    """Return an answer that is an HTTP error with a JSON body as all providers write it."""
    headers = (("retry-after", retry_after),) if retry_after is not None else ()
    error = {"type": "error", "error": {"message": message, "type": kind, "code": kind}}
    return Answer(status=status, headers=headers, body=json.dumps(error).encode())


def html_page(status: int = 200) -> Answer:
    """Return a web page where an answer should be, as proxies and wrong addresses give it."""
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the network</body></html>"
    return Answer(status=status, headers=(("content-type", "text/html"),), body=page)


def equal_deltas(count: int = 100, piece: str = "ha ") -> Answer:
    """Return an answer of the same delta again and again."""
    return Answer(text=piece * count, delta_size=len(piece))


def content_text(content: object) -> str:
    """Return the text of a message's content, whichever form it has."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the scripted model reads of a request."""

    system: str
    prompt: str
    steps_done: int
    results: tuple[str, ...]
    users: tuple[str, ...]
    message_count: int
    has_tools: bool


def _tool_results(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if message.get("role") == "tool":
        return [content_text(content)]
    blocks = content if isinstance(content, list) else []
    return [content_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def _has_calls(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return bool(message.get("tool_calls")) or any(block.get("type") == "tool_use" for block in blocks)


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Return what matters of a request of any wire format."""
    body = as_chat(body)
    messages: list[dict[str, Any]] = body.get("messages", [])
    system = [content_text(body.get("system"))]
    system += [content_text(m.get("content")) for m in messages if m.get("role") in ("system", "developer")]
    said = [at for at, m in enumerate(messages) if m.get("role") == "user" and content_text(m.get("content")).strip()]
    typed = [at for at in said if _strip(content_text(messages[at].get("content")))] or said
    after = messages[typed[-1] + 1 :] if typed else []
    last = messages[typed[-1]] if typed else {}
    return Conversation(
        system="\n".join(system),
        prompt=content_text(last.get("content")).rpartition("<<anew>>")[2],
        steps_done=sum(1 for m in after if _has_calls(m)),
        results=tuple(result for m in after for result in _tool_results(m)),
        users=tuple(content_text(messages[at].get("content")) for at in said),
        message_count=sum(1 for m in messages if m.get("role") in ("user", "assistant")),
        has_tools=bool(body.get("tools")),
    )


def _strip(text: str) -> str:
    late = _LATE.search(text)
    return _REMINDER.sub("", late.group(1) if late else text).strip()


def _clean(text: str) -> str:
    return re.sub(r"\s+", " ", _DIRECTIVE.sub("", _strip(text))).strip()


class DirectiveModel:
    """The model to try by hand: obeys the directives of the newest prompt."""

    def __init__(self) -> None:
        self._failed: Counter[str] = Counter()

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the answer to a request; depends on the request alone, except for `flaky`."""
        talk = read_conversation(body)
        if "title generator" in talk.system.lower():
            first = next((user for user in talk.users if "<<" in user or "title" not in user.lower()), talk.prompt)
            return Answer(text="Title: " + " ".join(_clean(first).strip('"').split()[:4]))
        if not talk.has_tools and "summarize the conversation" in talk.prompt.lower():
            return Answer(text=f"SUMMARY of {talk.message_count - 1} messages: the scripted model was tried.")
        return self._obey(talk)

    def _obey(self, talk: Conversation) -> Answer:
        answer, steps = Answer(text=_final_text(talk)), []
        directives = _DIRECTIVE.findall(_strip(talk.prompt))
        for name, argument in directives:
            match name, argument.strip():
                case "tool", call:
                    tool, _, arguments = call.partition(" ")
                    steps.append(Call(tool, arguments.strip() or "{}"))
                case "error", value:
                    status, _, text = value.partition(" ")
                    return failure(int(status), text or "scripted failure")
                case "flaky", value:
                    status, _, seconds = value.partition(" ")
                    self._failed[talk.prompt] += 1
                    if self._failed[talk.prompt] == 1:
                        return failure(int(status), "scripted failure", retry_after=seconds or None)
                case other, value:
                    answer = _with_directive(answer, other, value)
        groups = [steps] if steps and any(name == "par" for name, _ in directives) else [[step] for step in steps]
        if talk.has_tools and talk.steps_done < len(groups):
            calls = tuple(groups[talk.steps_done])
            return replace(answer, text=f"Calling {', '.join(call.tool for call in calls)}. ", calls=calls)
        return answer


def _final_text(talk: Conversation) -> str:
    if talk.results:
        result = re.sub(r"\s+", " ", talk.results[-1]).strip()[:60]
        return f"Done: {_clean(talk.prompt)} | tool: {result}"
    return f"Echo: {_clean(talk.prompt)}"


def _with_directive(answer: Answer, name: str, value: str) -> Answer:
    match name:
        case "slow":
            return replace(answer, delay_ms=float(value or 50))
        case "words":
            return replace(answer, text=" ".join(f"word{n}" for n in range(1, int(value or 10) + 1)))
        case "reason":
            return replace(answer, reasoning=value)
        case "usage":
            numbers = [int(word) for word in value.split()]
            return replace(answer, usage=(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0))
        case "finish":
            return replace(answer, finish=value or "stop")
        case "fault" if value in ("drop", "reset", "stall"):
            return replace(answer, fault=value)
        case _:
            return answer
