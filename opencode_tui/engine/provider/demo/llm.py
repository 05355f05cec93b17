"""The demo model as a provider adapter: streams the next step word by word, without a network.

The scripts of the turn are replayed with the results so far, to the first call without one, or to the closing text.
"""

import asyncio
import json
import re
import secrets
import textwrap
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.provider import llm
from opencode_tui.engine.provider.demo.tour import Call, Failed, Script, read_scripts

INTRODUCTION = "I'm the built-in demo: a small script standing in for a model, using the real tools."

_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+", re.DOTALL)
_CHARACTERS_PER_TOKEN = 4
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_MESSAGE, _MESSAGE_END = "The user sent the following message:\n", "\nPlease address this message"
_NO_WORDS = re.compile(r"(?i)Called the \w+ tool|<(?:path|file|content|directories)>|\[\w+ (?:gave|failed)\]")
"""The start of a text that is not the user's: an attached file, or the result of a call in a request for a summary."""

_FOLDER = re.compile(r"^\s*Working directory: (.+)$", re.MULTILINE)
Answer = tuple[llm.CallBlock, llm.ResultBlock]
_SUMMARY = "summarize the conversation"


class DemoLlm:
    """The scripted model; waits `delay_ms` after each event, so that its text streams visibly."""

    def __init__(self, *, delay_ms: float = 8) -> None:
        self._delay_s = delay_ms / 1000

    async def stream(self, request: llm.LlmRequest) -> AsyncGenerator[Sequence[llm.StreamEvent]]:
        """Yield the next step of the turn; never fails and needs no closing."""
        act = await asyncio.to_thread(plan_next, request)
        for event in _events(act, request):
            yield (event,)
            await asyncio.sleep(self._delay_s)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class Act(Struct, frozen=True):
    """The next step: optional reasoning, a text, an optional call."""

    text: str
    thought: str = ""
    call: Call | None = None


def plan_next(request: llm.LlmRequest) -> Act:
    """Return the next step; it calls only tools of the request."""
    entries = request.messages
    start = max((at for at, entry in enumerate(entries) if _words(entry)), default=len(entries))
    if any("title generator" in segment for segment in request.system):
        title = textwrap.shorten(" ".join(_asked(entries[start:])), 50, placeholder="…") or "Demo"
        return Act(title[0].upper() + title[1:])
    users = [entry for entry in entries if isinstance(entry, llm.UserEntry)]
    if not request.tools and users and _SUMMARY in " ".join(_texts(users[-1])):
        asked = (" ".join(text.split()) for entry in users for text in _words(entry) if _SUMMARY not in text)
        return Act("\n".join(["## Goal", *(f"- {text}" for text in asked), "", "Listed by the built-in demo script."]))
    calls = [call for entry in entries[:start] for call in _calls(entry)]
    file = next((str(call.input["filePath"]) for call in reversed(calls) if "filePath" in call.input), "")
    folder = next(iter(_FOLDER.findall("\n".join(request.system))), "").strip()
    scripts = read_scripts("\n".join(_asked(entries[start:])), {"file": file, "folder": folder})
    if not scripts:
        help_text = Path(__file__).with_name("help.md").read_text(encoding="utf-8").strip()
        return Act(f"{INTRODUCTION} {help_text}")
    is_first = not any(isinstance(entry, llm.AssistantEntry) for entry in entries[:start])
    return _next(scripts, request, _answers(entries[start:]), INTRODUCTION if is_first else "")


def _next(scripts: list[Script], request: llm.LlmRequest, done: list[Answer], introduction: str) -> Act:
    answers, texts = iter(done), [introduction] if introduction and not done else []
    tools = {tool.name for tool in request.tools} if request.tool_choice != "none" else set[str]()
    for script in scripts:
        try:
            call = next(script)
            for earlier, result in answers:
                if (earlier.tool, earlier.input) != (call.tool, call.input):
                    return Act("The conversation has changed unexpectedly, so I stop here.")
                call = script.send(result)
        except StopIteration as end:
            texts.append(str(end.value))
            continue
        except Failed as failure:
            return Act("\n\n".join([*texts, str(failure)]))
        if call.tool not in tools:
            return Act("\n\n".join([*texts, f"This needs the `{call.tool}` tool, which is not available."]))
        if done:
            return Act(call.say, call=call)
        return Act(f"{introduction} {call.say}".strip(), f"This is a prompt that I know. First: {call.say}", call)
    return Act("\n\n".join(texts))


def _asked(turn: Sequence[llm.ModelMessage]) -> list[str]:
    """Return the user's texts in a turn: what began it, then what was sent in the meantime, which reminders wrap."""
    reminders = (reminder for entry in turn for text in _texts(entry) for reminder in split_reminders(text)[1])
    sent = (reminder.partition(_MESSAGE)[2].rpartition(_MESSAGE_END)[0].strip() for reminder in reminders)
    return ["\n".join(_words(turn[0])) if turn else "", *filter(None, sent)]


def _words(entry: llm.ModelMessage) -> list[str]:
    """Return the user's own texts in an entry."""
    texts = (split_reminders(text)[0].strip() for text in _texts(entry))
    return [text for text in texts if text and not _NO_WORDS.match(text)]


def split_reminders(text: str) -> tuple[str, list[str]]:
    """Return a text without the program's reminders, and their texts; one without an end is part of the text."""
    first, *rest = text.split(_REMINDER)
    kept, reminders = [first], list[str]()
    for piece in rest:
        inside, end, after = piece.partition(_REMINDER_END)
        kept.append(after if end else _REMINDER + piece)
        reminders += [inside] if end else []
    return "".join(kept), reminders


def _texts(entry: llm.ModelMessage) -> list[str]:
    blocks = entry.content if isinstance(entry, llm.UserEntry) else ()
    return [block.text for block in blocks if isinstance(block, llm.TextBlock)]


def _calls(entry: llm.ModelMessage) -> list[llm.CallBlock]:
    blocks = entry.content if isinstance(entry, llm.AssistantEntry) else ()
    return [block for block in blocks if isinstance(block, llm.CallBlock)]


def _answers(turn: Sequence[llm.ModelMessage]) -> list[Answer]:
    calls = {call.id: call for entry in turn for call in _calls(entry)}
    results = (result for entry in turn if isinstance(entry, llm.ToolEntry) for result in entry.results)
    return [(calls[result.id], result) for result in results if result.id in calls]


def _events(act: Act, request: llm.LlmRequest) -> Iterator[llm.StreamEvent]:
    if act.thought:
        yield llm.ReasoningStart("thought")
        yield from (llm.ReasoningDelta("thought", word) for word in _WORD.findall(act.thought))
        yield llm.ReasoningEnd("thought")
    yield llm.TextStart("text")
    yield from (llm.TextDelta("text", word) for word in _WORD.findall(act.text))
    yield llm.TextEnd("text")
    raw = ""
    if act.call is not None:
        name, raw = f"call_{secrets.token_hex(12)}", json.dumps(act.call.input, ensure_ascii=False)
        yield llm.ToolInputStart(name, act.call.tool)
        yield from (llm.ToolInputDelta(name, piece) for piece in _WORD.findall(raw))
        yield llm.ToolInputEnd(name)
        yield llm.ToolCall(name, act.call.tool, act.call.input, raw=raw)
    thought = _tokens([act.thought])
    usage = llm.Usage(input=_tokens(_sent(request)), output=_tokens([act.text, raw]) + thought, reasoning=thought)
    yield llm.FinishStep("stop" if act.call is None else "tool-calls", usage)


def _sent(request: llm.LlmRequest) -> Iterator[str]:
    """Yield the texts of a request; media count as none, because this model ignores them."""
    yield from request.system
    yield from (text for tool in request.tools for text in (tool.description, json.dumps(tool.parameters)))
    for entry in request.messages:
        for block in entry.results if isinstance(entry, llm.ToolEntry) else entry.content:
            yield json.dumps(block.input) if isinstance(block, llm.CallBlock) else getattr(block, "text", "")


def _tokens(texts: Sequence[str] | Iterator[str]) -> int:
    return -(-sum(map(len, texts)) // _CHARACTERS_PER_TOKEN)
