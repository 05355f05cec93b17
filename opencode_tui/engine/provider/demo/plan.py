"""Finds the demo model's next act: a pure function of the request.

The goals of the turn are read from the person's words, their scripts are replayed with the answers so far, and the first call
that has no answer yet is the next act; when all scripts have ended, it is the closing text.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.provider.demo.edit_scripts import create_file, insert_line, replace_text
from opencode_tui.engine.provider.demo.goals import (
    CreateFile,
    FindFiles,
    FindText,
    FollowPlan,
    Goal,
    InsertLine,
    ListFolder,
    ReadFile,
    ReplaceText,
    RunCommand,
    RunFile,
    RunTests,
    Unclear,
    WritePlan,
)
from opencode_tui.engine.provider.demo.intent import read_goals
from opencode_tui.engine.provider.demo.look_scripts import find_files, find_text, list_folder, read_file
from opencode_tui.engine.provider.demo.output import count
from opencode_tui.engine.provider.demo.script import Call, Outcome, Script, failed
from opencode_tui.engine.provider.demo.talk import summarise_conversation, title_of
from opencode_tui.engine.provider.demo.turn import Done, Turn, last_user_text, read_turn
from opencode_tui.engine.provider.demo.work_scripts import run_command, run_file, run_tests, todo_items, write_plan
from opencode_tui.engine.provider.stream import LlmRequest, ResultBlock

MAX_CALLS = 11
"""Calls in one turn; with the closing text a turn has at most 12 steps."""

INTRODUCTION = "I am the built-in demo: a small script in the place of a model, with the real tools."

_GO_ON = "I am a script and keep nothing in mind across a summary: ask again for what is still open."


class Action(Struct, frozen=True):
    """What the model does next: a thought when there is one, then a text, then a call when there is one."""

    text: str
    thought: str = ""
    call: Call | None = None


def plan_next(request: LlmRequest) -> Action:
    """Return the next act. Never calls a tool that the request does not offer, never makes more than 11 calls in a turn."""
    if any("title generator" in segment for segment in request.system):
        return Action(title_of(request))
    if not request.tools and "summarize the conversation" in last_user_text(request):
        return Action(summarise_conversation(request))
    turn = read_turn(request)
    goals = [goal for text in turn.asked for goal in read_goals(text)]
    if not goals:
        return Action(_GO_ON if turn.asked and turn.asked[-1].lower().startswith("continue") else _help(turn))
    return _act(turn, goals)


def _act(turn: Turn, goals: list[Goal]) -> Action:
    answers = iter(turn.done)
    outcomes: list[Outcome] = []
    for number, goal in enumerate(goals):
        step = _replay(_script(goal, turn), answers)
        if isinstance(step, Call):
            stop = _refusal(turn, step)
            if stop is None:
                return _next_call(turn, goals, step)
            step = stop
        outcomes.append(step)
        if not step.is_done and not isinstance(goal, Unclear):
            return _closing(turn, outcomes, left=len(goals) - number - 1)
    return _closing(turn, outcomes, left=0)


def _refusal(turn: Turn, call: Call) -> Outcome | None:
    if len(turn.done) >= MAX_CALLS:
        return Outcome(
            f"I stop after {count(len(turn.done), 'call')}, so that a script never runs for ever.", is_done=False
        )
    if turn.offers(call.tool):
        return None
    return Outcome(f"This would need the `{call.tool}` tool, which I may not use now.", is_done=False)


def _replay(script: Script, answers: Iterator[Done]) -> Call | Outcome:
    """Return the first call that has no answer yet, or how the script ended."""
    try:
        call = next(script)
        for done in answers:
            if (done.call.tool, done.call.input) != (call.tool, call.input):
                return Outcome("The conversation is not what I remember, so I stop here.", is_done=False)
            call = script.send(done.result)
    except StopIteration as end:
        return end.value
    return call


def _script(goal: Goal, turn: Turn) -> Script:
    match goal:
        case ReadFile():
            return read_file(goal, turn)
        case FindText():
            return find_text(goal, turn)
        case FindFiles():
            return find_files(goal, turn)
        case ListFolder():
            return list_folder(goal, turn)
        case CreateFile():
            return create_file(goal, turn)
        case ReplaceText():
            return replace_text(goal, turn)
        case InsertLine():
            return insert_line(goal, turn)
        case RunCommand():
            return run_command(goal, turn)
        case RunFile():
            return run_file(goal, turn)
        case RunTests():
            return run_tests(goal, turn)
        case WritePlan():
            return write_plan(goal, turn)
        case FollowPlan():
            return _follow_plan(turn)
        case Unclear():
            return _ask_again(goal)


def _ask_again(goal: Unclear) -> Script:
    yield from ()
    return Outcome(goal.reason[0].upper() + goal.reason[1:] + ".", is_done=False)


def _follow_plan(turn: Turn) -> Script:
    """Do the items of the latest plan one after the other, and mark what was done."""
    items = turn.latest_plan
    if not items:
        return Outcome(
            "There is no plan yet. Say, for example, “plan: create hello.py that prints hello, then run it”.",
            is_done=False,
        )
    texts: list[str] = []
    done = 0
    for item in items:
        outcome, turn = yield from _follow_item(item, turn)
        texts.append(outcome.text)
        if not outcome.is_done:
            break
        done += 1
    marked = yield Call("todowrite", {"todos": todo_items(items, done=done)}, "I bring the todo list up to date.")
    if marked.is_error:
        texts.append(failed("Bringing the todo list up to date", marked).text)
    return Outcome("\n\n".join([*texts, f"Done: {done} of {count(len(items), 'item')}."]), is_done=done == len(items))


def _follow_item(item: str, turn: Turn) -> Generator[Call, ResultBlock, tuple[Outcome, Turn]]:
    """Do one item; the turn that comes back knows the file that it was about, so that the next may say “it”."""
    goals = read_goals(item)
    if not goals:
        return Outcome(f"“{item}” is beyond a script.", is_done=False), turn
    texts: list[str] = []
    for goal in goals:
        outcome = yield from _script(goal, turn)
        texts.append(outcome.text)
        if not outcome.is_done:
            return Outcome("\n\n".join(texts), is_done=False), turn
        turn = replace(turn, latest_file=getattr(goal, "path", None) or turn.latest_file)
    return Outcome("\n\n".join(texts)), turn


def _next_call(turn: Turn, goals: list[Goal], call: Call) -> Action:
    if turn.done:
        return Action(call.say, call=call)
    thought = f"The request has {count(len(goals), 'part')}. First: {call.say}"
    opening = f"{INTRODUCTION} {call.say}" if turn.is_first else call.say
    return Action(opening, thought=thought, call=call)


def _closing(turn: Turn, outcomes: list[Outcome], *, left: int) -> Action:
    told = [outcome.text for outcome in outcomes]
    if left:
        told.append(f"I stopped there; {count(left, 'part')} of the request {'is' if left == 1 else 'are'} not done.")
    if turn.is_first and not turn.done:
        told.insert(0, INTRODUCTION)
    return Action("\n\n".join(told))


def _help(turn: Turn) -> str:
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8").strip()
    limit = "" if turn.offered else "\n\n(No tools are offered to me now, so I can only talk.)"
    return f"{INTRODUCTION} {text}{limit}"
