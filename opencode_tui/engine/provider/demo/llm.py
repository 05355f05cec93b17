"""The demo model as a provider adapter: streams the next step word by word, without a network.

The goals of the turn are parsed from the user's words, and their scripts are replayed with the results so far. The next step is the
first call without a result, or the closing text when all scripts have ended.
"""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.provider.demo.intent import Goal, read_goals
from opencode_tui.engine.provider.demo.scripts import Call, Outcome, Script, count, script_of
from opencode_tui.engine.provider.demo.turn import Done, Turn, asks_for_summary, read_turn, summarize, title_of
from opencode_tui.engine.provider.llm import (
    CallBlock,
    FinishStep,
    LlmRequest,
    MediaBlock,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolEntry,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    Usage,
)

MAX_CALLS = 11
"""Calls in one turn; with the closing text a turn has at most 12 steps."""
INTRODUCTION = "I'm the built-in demo: a small script standing in for a model, using the real tools."

_DEFAULT_DELAY_MS = 8
_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+", re.DOTALL)
_CHARACTERS_PER_TOKEN = 4


class DemoLlm:
    """The scripted model; waits `delay_ms` after each word, so that its text streams visibly."""

    def __init__(self, *, delay_ms: float = _DEFAULT_DELAY_MS) -> None:
        self._delay_s = delay_ms / 1000

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Sequence[StreamEvent]]:
        """Yield the next step of the turn; never fails and needs no closing."""
        act = await asyncio.to_thread(plan_next, request)
        for event in _events(act, request):
            yield (event,)
            await asyncio.sleep(self._delay_s if isinstance(event, TextDelta | ReasoningDelta | ToolInputDelta) else 0)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class Act(Struct, frozen=True):
    """The next step: optional reasoning, a text, an optional call."""

    text: str
    thought: str = ""
    call: Call | None = None


def plan_next(request: LlmRequest) -> Act:
    """Return the next step. Calls only tools of the request, at most 11 in a turn."""
    if any("title generator" in segment for segment in request.system):
        return Act(title_of(request))
    if asks_for_summary(request):
        return Act(summarize(request))
    turn = read_turn(request)
    goals = [goal for text in turn.asked for goal in read_goals(text)]
    if any(goal.action != "unclear" for goal in goals):
        return _act(turn, goals)
    if turn.asked and turn.asked[-1].lower().startswith("continue"):
        return Act("I don't remember anything from before a summary. Ask again for what is left.")
    limit = "" if turn.tools else "\n\n(This request has no tools, so I can only talk.)"
    reasons = "".join(f"{goal.text[0].upper()}{goal.text[1:]}.\n\n" for goal in goals)
    help_text = Path(__file__).with_name("help.md").read_text(encoding="utf-8").strip()
    return Act(f"{INTRODUCTION} {reasons}{help_text}{limit}")


def _act(turn: Turn, goals: list[Goal]) -> Act:
    answers, outcomes = iter(turn.done), list[Outcome]()
    for number, goal in enumerate(goals, 1):
        step = _replay(script_of(goal, turn), answers)
        if isinstance(step, Call):
            refusal = _refusal(turn, step)
            if refusal is None:
                return _next_call(turn, goals, step)
            step = refusal
        outcomes.append(step)
        if not step.is_done:
            return _closing(turn, outcomes, left=len(goals) - number)
        turn = replace(turn, latest_file=goal.path or turn.latest_file)  # so that the next part may say “it”
    return _closing(turn, outcomes, left=0)


def _replay(script: Script, answers: Iterator[Done]) -> Call | Outcome:
    """Return the first call without a result, or the outcome of the script."""
    try:
        call = next(script)
        for done in answers:
            if (done.call.tool, done.call.input) != (call.tool, call.input):
                return Outcome("The conversation has changed unexpectedly, so I stop here.", is_done=False)
            call = script.send(done.result)
    except StopIteration as end:
        return end.value
    return call


def _refusal(turn: Turn, call: Call) -> Outcome | None:
    if len(turn.done) >= MAX_CALLS:
        return Outcome(f"Stopped after {len(turn.done)} calls, the limit for one turn.", is_done=False)
    if call.tool not in turn.tools:
        return Outcome(f"This needs the `{call.tool}` tool, which is not available.", is_done=False)
    return None


def _next_call(turn: Turn, goals: list[Goal], call: Call) -> Act:
    if turn.done:
        return Act(call.say, call=call)
    thought = f"The request has {count(len(goals), 'part')}. First: {call.say}"
    return Act(f"{INTRODUCTION} {call.say}" if turn.is_first else call.say, thought=thought, call=call)


def _closing(turn: Turn, outcomes: list[Outcome], *, left: int) -> Act:
    texts = [INTRODUCTION] if turn.is_first and not turn.done else []
    texts += [outcome.text for outcome in outcomes]
    if left:
        texts.append(f"Stopped here; {count(left, 'part')} of the request {'is' if left == 1 else 'are'} not done.")
    return Act("\n\n".join(texts))


def _events(act: Act, request: LlmRequest) -> Iterator[StreamEvent]:
    if act.thought:
        yield ReasoningStart("thought")
        yield from (ReasoningDelta("thought", word) for word in _WORD.findall(act.thought))
        yield ReasoningEnd("thought")
    yield TextStart("text")
    yield from (TextDelta("text", word) for word in _WORD.findall(act.text))
    yield TextEnd("text")
    if act.call is not None:
        yield from _call_events(act.call)
    yield FinishStep("stop" if act.call is None else "tool-calls", _usage(act, request))


def _call_events(call: Call) -> Iterator[StreamEvent]:
    name = f"call_{secrets.token_hex(12)}"
    raw = json.dumps(call.input, ensure_ascii=False)
    yield ToolInputStart(name, call.tool)
    yield from (ToolInputDelta(name, piece) for piece in _WORD.findall(raw))
    yield ToolInputEnd(name)
    yield ToolCall(name, call.tool, call.input, raw=raw)


def _usage(act: Act, request: LlmRequest) -> Usage:
    """Return estimated tokens: four characters are one; media count 0, because this model ignores them."""
    read = sum(map(len, request.system))
    read += sum(len(tool.description) + len(json.dumps(tool.parameters)) for tool in request.tools)
    for entry in request.messages:
        for block in entry.results if isinstance(entry, ToolEntry) else entry.content:
            if isinstance(block, CallBlock):
                read += len(json.dumps(block.input))
            elif not isinstance(block, MediaBlock):
                read += len(block.text)
    written = len(act.text) + (len(json.dumps(act.call.input)) if act.call else 0)
    thought = _tokens(len(act.thought))
    return Usage(input=_tokens(read), output=_tokens(written) + thought, reasoning=thought)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
