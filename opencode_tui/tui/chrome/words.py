"""The words of the title row, the activity line and the status line: pure functions of the shown session."""

import os
from collections.abc import Callable
from typing import Literal

from opencode_tui.schema.api.catalog import SandboxState
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.message import Delivery
from opencode_tui.schema.session.session import BusyStatus, RetryStatus, SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.cells import clip
from opencode_tui.text.cost import cost_words, plan_words
from opencode_tui.text.quantity import at_when, duration, money, short_path, token_words
from opencode_tui.text.retry import waiting_reason
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import argument_of, exit_code, name_of
from opencode_tui.text.wait import wait_time, wait_words
from opencode_tui.tui.chrome.activity import Activity
from opencode_tui.tui.chrome.header import Title
from opencode_tui.tui.chrome.status_facts import OutsideFacts
from opencode_tui.tui.chrome.status_line import Status
from opencode_tui.tui.prompt.editor import HINTS
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.message import RetryItem, ToolItem, UserItem
from opencode_tui.tui.state.notices import FolderNotices
from opencode_tui.tui.state.screen_settings import ScreenSettings
from opencode_tui.tui.state.session_facts import SessionFacts

Mode = Literal["", "asking", "reading", "shell"]
"""What the keys are for: the prompt, a panel, the focused conversation, or a command in the prompt."""

Hints = tuple[tuple[str, str, str], ...]
"""The key, the words and the ID of each action, the most important last."""

READING = (
    ("item_find", "find"),
    ("item_fork", "fork"),
    ("item_revert", "undo"),
    ("item_copy", "copy"),
    ("item_leave", "prompt"),
)
"""Actions on the focused item that the status line shows, the most important last."""

WIDE = 110
"""Columns from which hints are not shortened."""

PLAN = "plan"
"""The agent that does not edit files."""


def title_of(control: SessionController, *, is_folded: bool) -> Title:
    """Return the title row, with the changes while the sidebar is hidden."""
    if control.facts is None:
        return Title()
    text = screen_line(control.facts.title)
    info: SessionInfo = control.facts.info
    if not is_folded or info.summary is None:
        return Title(text, is_shared=info.share is not None)
    summary = info.summary
    return Title(text, summary.additions, summary.deletions, summary.files or 0, is_shared=info.share is not None)


def activity_of(control: SessionController, now: int, *, interrupt_key: str, send_key: str = "") -> Activity:
    """Return what happens now in the shown session; an idle activity when nothing does, and nothing has ended with its process."""
    facts = control.facts
    if facts is not None and control.is_elsewhere and not control.is_busy:
        return Activity("asks", "In use in another terminal", "updates appear when it finishes")
    if facts is None or not control.is_busy:
        return _killed(control, send_key) if control.can_continue else Activity()
    status = control.folder.status(facts.info.id)
    if isinstance(status, RetryStatus):
        left = max(0, status.next - now + 999) // 1000
        retry = next((item for item in reversed(control.transcript.items) if isinstance(item, RetryItem)), None)
        attempt = retry.attempts[-1] if retry is not None and retry.attempts else None
        word = waiting_reason(retry.provider if retry is not None else "", attempt, status.message)
        most = f" of {status.attempts}" if status.attempts else ""
        facts_text = f"next try in {duration(left)}, attempt {status.attempt}{most}"
        return Activity("retry", word, facts_text, interrupt_key, "stop trying")
    elapsed = duration(max(0, now - _since(control, facts)) / 1000)
    questions = control.questions()
    if questions:
        word = "approval" if isinstance(questions[0], PermissionRequest) else "answer"
        return Activity("asks", f"Waiting for your {word}", elapsed, interrupt_key, "interrupt")
    if isinstance(status, BusyStatus) and status.wait is not None:
        return Activity("busy", wait_words(status.wait), wait_time(status.wait, now), interrupt_key, "interrupt")
    return Activity("busy", facts.word, _facts(elapsed, token_words(facts.turn_tokens)), interrupt_key, "interrupt")


def _killed(control: SessionController, send_key: str) -> Activity:
    """Return when and in which call a turn ended with its process, and the key that lets it go on."""
    facts = control.facts
    assert facts is not None
    calls = (item for item in reversed(control.transcript.items) if isinstance(item, ToolItem))
    last = next(calls, None)
    is_cut = last is not None and isinstance(last.part.state, ToolStateError)
    where = f"in {name_of(last.part.tool)} {argument_of(last.part)}" if is_cut and last is not None else ""
    word = f"Stopped {at_when(facts.killed_at, control.now())}"
    if not send_key:
        return Activity("note", word, screen_line(where))
    return Activity("note", word, screen_line(where), send_key, "continue", "input_submit")


def end_of_turn(control: SessionController, started: int, now: int) -> Activity:
    """Return the activity for a turn that has just ended."""
    facts = control.facts
    assert facts is not None
    own = control.transcript.items[-1] if control.transcript.items else None
    if isinstance(own, ToolItem) and own.is_own and isinstance(own.part.state, ToolStateCompleted):
        code, took = exit_code(own.part.state), _duration_of(now - started)
        return Activity("failed", f"Exit {code}", took) if code else Activity("done", "Done", took)
    turn = next((item.turn for item in reversed(control.transcript.items) if isinstance(item, UserItem)), None)
    if turn is not None and turn.ended is not None:  # as its row says
        started, now = turn.begun or turn.started, turn.ended
    took = _duration_of(now - started)
    match facts.failure:
        case "" if facts.is_stopped_by_rejection:
            return Activity("note", "Stopped", _facts("you rejected a tool call", took))
        case "":
            cost = money(facts.turn_cost) if facts.turn_cost else ""
            return Activity("done", "Done", _facts(took, facts.turn_summary(), cost))
        case "MessageAbortedError":
            return Activity("note", "Interrupted", took)
        case _:
            return Activity("failed", "Stopped", _facts(took, token_words(facts.turn_tokens)))


def _duration_of(ms: int) -> str:
    return duration(ms / 1000) if ms >= 1000 else ""


def _facts(*facts: str) -> str:
    return " · ".join(one for one in facts if one)


def status_of(
    control: SessionController,
    settings: ScreenSettings,
    notices: FolderNotices,
    *,
    is_folded: bool,
    outside: OutsideFacts,
    hints: Hints,
    vim: str = "",
) -> Status:
    """Return the status line with these hints. Fields that the user chose are shown next to a sidebar too."""
    facts = control.facts
    agent = screen_line(control.agent or "")
    variant = control.choice.shown_variant if control.choice.model else ""
    model = screen_line(f"{control.choice.name} {variant}".rstrip())
    share, cost = "", ""
    is_full = is_folded or bool(settings.status_fields)
    if is_full:
        share = share_text(facts.context, control.choice.limit) if facts is not None else ""
        cost = cost_of(control, settings.session_budget)
    sandbox, is_confined = _sandbox_of(notices.sandbox)
    reason = "" if is_confined or notices.sandbox is None else screen_line(notices.sandbox.reason)
    waiting = control.waiting_elsewhere() if is_folded else 0
    return Status(
        agent,
        model,
        share,
        cost,
        control.approvals,
        sandbox,
        is_confined,
        reason,
        is_exposed=notices.sandbox is not None and bool(notices.sandbox.exposed),
        branch=_branch(control, outside) if is_full else "",
        folder=short_path(str(control.client.directory), os.path.expanduser("~")) if settings.status_fields else "",
        text=outside.text,
        has_failed=outside.has_failed,
        has_reached_plan=facts is not None and facts.has_reached_plan,
        fields=settings.status_fields,
        waiting=waiting,
        background=_running_in_background(control) if is_folded else 0,
        vim=vim,
        hints=hints,
    )


def _is_demo(control: SessionController) -> bool:
    return control.choice.model is not None and control.choice.model.provider_id == "demo"


def _running_in_background(control: SessionController) -> int:
    return sum(one.is_running for one in control.folder.background_of(control.session_id))


LONGEST_BRANCH = 24
"""Cells of a branch in the status line."""


def _branch(control: SessionController, outside: OutsideFacts) -> str:
    """Return `main`, or `main*` with changes in the work tree."""
    branch = screen_line(control.folder.branch or "")
    return f"{clip(branch, LONGEST_BRANCH, '~')}{'*' if outside.is_dirty else ''}" if branch else ""


def _sandbox_of(found: SandboxState | None) -> tuple[str, bool]:
    """Return the words about the sandbox, empty while nothing is known, and whether it works."""
    if found is None:
        return "", False
    if found.tier != "none":
        words = "sandbox, read-only" if found.mode == "read-only" else "sandbox"
        words = f"{words}, names in any case" if found.spelling else words
        return f"{words}, except this program" if found.exposed else words, True
    return "no sandbox", False


def prompt_hints(control: SessionController, *, has_examples: bool) -> tuple[str, ...]:
    """Return the hints of an empty prompt."""
    if control.agent == PLAN:
        return ("Plan mode: read-only", *HINTS[1:])
    return ("Ask anything, or press up for an example", *HINTS[1:3]) if has_examples else HINTS


def share_text(used: int, limit: int) -> str:
    """Return the used share of the context, or the tokens where the limit is unknown; empty for none."""
    if not used:
        return ""
    return f"{round(100 * used / limit)} %" if limit else token_words(used)


def shell_status(key: Callable[[str], str], vim: str) -> Status:
    """Return the status line while the prompt is a command for the shell; `key` returns the key of an action."""
    return Status(
        "shell command", "runs at once, without the model", vim=vim, hints=((key("input_submit"), "run", ""),)
    )


def hints_of(
    control: SessionController, *, mode: Mode, delivery: Delivery, width: int, key: Callable[[str], str]
) -> Hints:
    """Return the keys that are useful now; `key` returns the key of an action."""
    if mode == "reading":
        return tuple((key(action), word, action) for action, word in READING if key(action))
    if mode == "asking":
        up, down = key("messages_page_up"), key("messages_page_down")
        return ((f"{up} {down}", "read the chat", ""),)
    hints = _prompt_keys(control, delivery if control.is_busy else "", width, key)
    if control.facts is not None and control.facts.info.parent_id:
        return (*hints[-1:], (key("session_parent"), "parent session", "session_parent"))
    return hints


def _prompt_keys(control: SessionController, delivery: str, width: int, key: Callable[[str], str]) -> Hints:
    first = ("model_list", "models") if _is_demo(control) else ("agent_cycle", "agent")
    wanted = [("command_list", "commands"), first, ("approvals_cycle", "approvals"), ("help_view", "help")]
    if width < 100:
        wanted = [("sidebar_toggle", "sidebar"), ("command_list", "commands"), ("help_view", "help")]
    if delivery:  # what enter does while the turn runs
        words = f"{'queue' if delivery == 'steer' else 'steer'}{' instead' if width >= WIDE else ''}"
        steer = ("prompt_delivery_toggle", words)
        wanted = [*([] if width < 100 else wanted[-2:-1]), steer, wanted[-1]]  # help is there at any width
    return tuple((key(action), word, action) for action, word in wanted if key(action))


def _since(control: SessionController, facts: SessionFacts) -> int:
    return facts.turn_started or control.folder.busy_since.get(facts.info.id, 0)


def cost_of(control: SessionController, budget: float) -> str:
    """Return what the shown session costs of a budget in USD, and the plan that pays for the model."""
    facts, chosen = control.facts, control.choice.model
    provider_id = chosen.provider_id if chosen else ""
    if facts is None:
        return plan_words(provider_id)
    return cost_words(facts.cost, budget, provider_id, is_reached=facts.has_reached_plan)
