"""Updates the title row, activity line, status line and sidebar: at once for questions, else after a short delay."""

import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Literal, Protocol

from textual.geometry import Size
from textual.timer import Timer

from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.session import RetryStatus, SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.cells import clip
from opencode_tui.text.quantity import cost_words, duration, money, short_path, token_words
from opencode_tui.text.retry import waiting_reason
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import exit_code
from opencode_tui.tui.chrome.activity import Activity, ActivityLine
from opencode_tui.tui.chrome.header import Header, Title
from opencode_tui.tui.chrome.queue_rows import QueueRows
from opencode_tui.tui.chrome.session_browser import SessionBrowser
from opencode_tui.tui.chrome.sidebar import Sidebar, sidebar_facts
from opencode_tui.tui.chrome.status_facts import OutsideFacts
from opencode_tui.tui.chrome.status_line import Status, StatusLine
from opencode_tui.tui.chrome.welcome import Welcome
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.prompt.box import PromptBox
from opencode_tui.tui.prompt.editor import HINTS
from opencode_tui.tui.session_tree import SessionRow, rows_by_folder, session_rows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.facts import SessionFacts
from opencode_tui.tui.state.items import RetryItem, ToolItem
from opencode_tui.tui.terminal_title import Notifier, TerminalTitle

Mode = Literal["", "asking", "reading", "shell"]
"""What the keys are for: the prompt, a panel, the focused conversation, or a command in the prompt."""

READING = (
    ("item_find", "find"),
    ("item_fork", "fork"),
    ("item_revert", "undo"),
    ("item_copy", "copy"),
    ("item_leave", "prompt"),
)
"""Actions on the focused item that the status line shows, the most important last."""

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


def activity_of(control: SessionController, now: int, *, interrupt_key: str) -> Activity:
    """Return what happens now in the shown session; an idle activity when nothing does."""
    facts = control.facts
    if facts is not None and control.is_elsewhere and not control.is_busy:
        return Activity("asks", "In use in another terminal", "updates appear when it finishes")
    if facts is None or not control.is_busy:
        return Activity()
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
    return Activity("busy", facts.word, _facts(elapsed, token_words(facts.turn_tokens)), interrupt_key, "interrupt")


def end_of_turn(control: SessionController, started: int, now: int) -> Activity:
    """Return the activity for a turn that has just ended."""
    facts = control.facts
    assert facts is not None
    seconds = (now - started) / 1000
    took = duration(seconds) if seconds >= 1 else ""
    own = control.transcript.items[-1] if control.transcript.items else None
    if isinstance(own, ToolItem) and own.is_own and isinstance(own.part.state, ToolStateCompleted):
        code = exit_code(own.part.state)
        return Activity("failed", f"Exit {code}", took) if code else Activity("done", "Done", took)
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


def _facts(*facts: str) -> str:
    return " · ".join(one for one in facts if one)


def status_of(
    control: SessionController,
    *,
    is_folded: bool,
    mode: Mode,
    width: int,
    key: Callable[[str], str],
    outside: OutsideFacts,
    vim: str = "",
) -> Status:
    """Return the status line; `key` returns the key of an action. Fields that the user chose are shown next to a sidebar too."""
    facts = control.facts
    is_child = facts is not None and bool(facts.info.parent_id)
    agent = screen_line((facts.agent if is_child and facts is not None else "") or control.choice.agent or "")
    variant = f" {control.choice.variant}" if control.choice.variant else ""
    chosen = control.choice.model
    is_demo = chosen is not None and chosen.provider_id == "demo"
    model = screen_line(f"{chosen if is_demo else chosen.model_id}{variant}") if chosen is not None else "no model"
    share, cost = "", ""
    is_full = is_folded or bool(control.status_fields)
    if is_full and control.facts is not None:
        share = share_text(control.facts.context, control.choice.limit)
        cost = cost_words(control.facts.cost, control.session_budget, chosen.provider_id if chosen else "")
    sandbox, is_confined = _sandbox_of(control)
    delivery = control.delivery if control.is_busy else ""
    hints = _hints(is_asking=mode == "asking", is_demo=is_demo, delivery=delivery, width=width, key=key)
    if mode == "reading":
        hints = tuple((key(action), word, action) for action, word in READING if key(action))
    elif is_child and mode != "asking":
        hints = (*hints[-1:], (key("session_parent"), "parent session", "session_parent"))
    if mode == "shell":
        run = (key("input_submit"), "run", "")
        return Status("shell command", "runs at once, without the model", vim=vim, hints=(run,))
    waiting = control.waiting_elsewhere() if is_folded else 0
    return Status(
        agent,
        model,
        share,
        cost,
        control.approvals,
        sandbox,
        is_confined,
        is_exposed=control.sandbox is not None and bool(control.sandbox.exposed),
        branch=_branch(control, outside) if is_full else "",
        folder=short_path(str(control.client.directory), os.path.expanduser("~")) if control.status_fields else "",
        text=outside.text,
        has_failed=outside.has_failed,
        fields=control.status_fields,
        waiting=waiting,
        background=_running_in_background(control) if is_folded else 0,
        vim=vim,
        hints=hints,
    )


def _running_in_background(control: SessionController) -> int:
    return sum(one.is_running for one in control.folder.background_of(control.session_id))


LONGEST_BRANCH = 24
"""Cells of a branch in the status line."""


def _branch(control: SessionController, outside: OutsideFacts) -> str:
    """Return `main`, or `main*` with changes in the work tree."""
    branch = screen_line(control.folder.branch or "")
    return f"{clip(branch, LONGEST_BRANCH, '~')}{'*' if outside.is_dirty else ''}" if branch else ""


def _sandbox_of(control: SessionController) -> tuple[str, bool]:
    """Return the words about the sandbox, empty while nothing is known, and whether it works."""
    found = control.sandbox
    if found is None:
        return "", False
    if found.tier != "none":
        words = "sandbox, read-only" if found.mode == "read-only" else "sandbox"
        return f"{words}, except this program" if found.exposed else words, True
    return screen_line(f"no sandbox: {found.reason}" if found.reason else "no sandbox"), False


def prompt_hints(control: SessionController, *, has_examples: bool) -> tuple[str, ...]:
    """Return the hints of an empty prompt."""
    if control.choice.agent == PLAN:
        return ("Plan mode: read-only", *HINTS[1:])
    return ("Ask anything, or press up for an example", *HINTS[1:3]) if has_examples else HINTS


def share_text(used: int, limit: int) -> str:
    """Return the used share of the context, or the tokens where the limit is unknown; empty for none."""
    if not used:
        return ""
    return f"{round(100 * used / limit)} %" if limit else token_words(used)


def _hints(
    *, is_asking: bool, is_demo: bool, delivery: str, width: int, key: Callable[[str], str]
) -> tuple[tuple[str, str, str], ...]:
    if is_asking:
        up, down = key("messages_page_up"), key("messages_page_down")
        return ((f"{up} {down}", "read the chat", ""),)
    first = ("model_list", "models") if is_demo else ("agent_cycle", "agent")
    wanted = [("command_list", "commands"), first, ("approvals_cycle", "approvals"), ("help_view", "help")]
    if width < 100:
        wanted = [("sidebar_toggle", "sidebar"), ("command_list", "commands")]
    if delivery:  # what enter does while the turn runs
        words = "steering" if delivery == "steer" else "queueing"
        wanted = [*wanted[-2:], ("prompt_delivery_toggle", words)]
    return tuple((key(action), word, action) for action, word in wanted if key(action))


def _since(control: SessionController, facts: SessionFacts) -> int:
    return facts.turn_started or control.folder.busy_since.get(facts.info.id, 0)


IDLE_S = 20
"""Seconds between updates while nothing happens, as ages change."""

READABLE_MS = 3_000
"""Milliseconds for which a message is shown before the end of a run replaces it."""

DELAY_S = 0.25
"""Seconds between updates of numbers that grow with every token."""


class _ChromeHost(Protocol):
    """The screen whose chrome is refreshed."""

    header: Header
    activity: ActivityLine
    queue: QueueRows
    prompt: PromptBox
    status: StatusLine
    sidebar: Sidebar | None
    browser: SessionBrowser | None
    welcome: Welcome | None

    @property
    def is_mounted(self) -> bool: ...

    @property
    def is_folded(self) -> bool: ...

    @property
    def is_reading(self) -> bool: ...

    @property
    def keymap(self) -> Keymap: ...

    @property
    def size(self) -> Size: ...

    def do(self, work: Coroutine[object, object, None]) -> None: ...

    def set_interval(self, interval: float, callback: Callable[[], object]) -> Timer: ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> Timer: ...


class _WaitingPanels(Protocol):
    """The panels of the questions that wait for an answer."""

    @property
    def is_open(self) -> bool: ...

    def sync(self) -> None: ...


class ChromeRefresh:
    """Updates the widgets whose content changed."""

    def __init__(
        self,
        screen: _ChromeHost,
        control: SessionController,
        panels: _WaitingPanels,
        title: TerminalTitle,
        notify: Callable[[str], object],
    ) -> None:
        self._screen = screen
        self._control = control
        self._panels = panels
        self._title = title
        self._notifier = Notifier(notify)
        self._outside = OutsideFacts(control, screen.do)
        self._note: Activity | None = None
        self._noted_at = 0
        self._busy: tuple[str, int] | None = None
        self._followed: tuple[str | None, tuple[int, int] | None] = (None, None)
        """The session that the last refresh showed, and the last run of it that had ended."""
        self._timer: Timer | None = None
        screen.set_interval(IDLE_S, self.refresh)

    def show_note(self, note: Activity | None) -> None:
        """Show a message in the activity line until the next key or run; None removes it.

        During a run the activity replaces it after 3 s, except for a failure.
        """
        if note != self._note:
            self._note, self._noted_at = note, self._control.now()
            self.refresh()

    def _show_end(self, ended: Activity, now: int) -> None:
        """Show that a run ended; a message that has just appeared stays until it can be read."""
        kept, left = self._note, self._noted_at + READABLE_MS - now
        if kept is None or left <= 0:
            self._note = ended
            return

        def show() -> None:
            if self._note is kept:
                self._note = ended
                self.refresh()

        self._screen.set_timer(left / 1000, show)

    def soon(self) -> None:
        """Update after a short delay; at once for a new question and when a run starts or ends."""
        if self._control.pop_urgent():
            self.refresh()
        elif self._timer is None:
            self._timer = self._screen.set_timer(DELAY_S, self.refresh)

    def refresh(self) -> None:
        """Update everything now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        screen, control, now = self._screen, self._control, self._control.now()
        if not screen.is_mounted:
            return
        self._follow_run(now)
        if control.is_busy and now >= self._noted_at + READABLE_MS and not self._is_failure:
            self._note = None
        self._panels.sync()
        self._notifier.follow(len(control.questions()))
        self._title.show(control.facts.title if control.facts is not None else "", self._state_sign())
        screen.header.show(title_of(control, is_folded=screen.is_folded))
        doing = activity_of(control, now, interrupt_key=screen.keymap.first("session_interrupt"))
        screen.activity.show(doing if self._note is None else self._note)
        self._show_status()
        self._show_queue()
        screen.prompt.editor.show_hints(prompt_hints(control, has_examples=screen.prompt.has_examples))
        if screen.welcome is not None and screen.welcome.display:
            screen.welcome.show(control, screen.keymap.first)
        home = os.path.expanduser("~")
        if screen.browser is not None and screen.browser.display:
            screen.browser.update_rows(self._browsed(screen.browser, now, home), now)
        elif screen.sidebar is not None and screen.sidebar.display:
            screen.sidebar.show(sidebar_facts(control, screen.sidebar.look.glyphs, home=home))
        if control.facts is not None and control.facts.is_context_changed and not control.is_busy:
            screen.do(self._measure())
        if control.folder.is_languages_changed:
            screen.do(self._read_languages())
        if control.is_busy and self._timer is None:
            self._timer = screen.set_timer(1, self.refresh)

    @property
    def _is_failure(self) -> bool:
        return self._note is not None and self._note.kind == "failed"

    async def _read_languages(self) -> None:
        await self._control.read_languages()
        self.refresh()

    async def _measure(self) -> None:
        await self._control.measure_context()
        self.refresh()

    def _browsed(self, browser: SessionBrowser, now: int, home: str) -> Sequence[SessionRow]:
        folder, glyphs = self._control.folder, browser.look.glyphs
        if not browser.is_everywhere:
            return session_rows(folder, now, glyphs)
        everywhere = {info.id: info for info in self._control.everywhere}
        return rows_by_folder(folder, now, glyphs, {**everywhere, **folder.sessions}.values(), home=home)

    def _state_sign(self) -> str:
        """Return a sign for the window title: a session needs an answer, works, or has finished since the last key."""
        glyphs, folder = self._screen.header.look.glyphs, self._control.folder
        if folder.asking:
            return glyphs.asks
        if folder.statuses:
            return glyphs.running
        return glyphs.done if self._note is not None and self._note.kind == "done" else ""

    def _mode(self) -> Mode:
        if self._screen.prompt.is_shell:
            return "shell"
        return "reading" if self._screen.is_reading else "asking" if self._panels.is_open else ""

    def _show_status(self) -> None:
        screen, chosen = self._screen, self._control.status_fields
        needs_branch = "branch" in chosen if chosen else screen.is_folded
        self._outside.follow(self._control.now(), self.refresh, needs_branch=needs_branch)
        screen.status.show(
            status_of(
                self._control,
                is_folded=screen.is_folded,
                mode=self._mode(),
                vim=screen.prompt.vim_mode,
                width=screen.size.width,
                key=screen.keymap.first,
                outside=self._outside,
            )
        )

    def _show_queue(self) -> None:
        screen = self._screen
        wanted = (("input_submit", "send now", "prompt_queue_send"), ("prompt_queue_edit", "edit", "prompt_queue_edit"))
        keys = [(screen.keymap.first(action), words, act) for action, words, act in wanted]
        texts = [screen_line(" ".join(text.split())) for text in self._control.waiting.texts]
        screen.queue.show(texts, [one for one in keys if one[0]])

    def _follow_run(self, now: int) -> None:
        """Remove the message when a run starts, summarize the run when it ends."""
        control = self._control
        shown = control.session_id
        run = control.folder.last_run.get(shown or "")
        if control.is_busy and shown is not None:
            if self._busy is None or self._busy[0] != shown:
                self._busy, self._note = (shown, now), None
        elif self._busy is not None:
            session_id, started = self._busy
            self._busy = None
            if session_id == shown:
                self._show_end_of_run(started, now)
        elif run is not None and self._followed[0] == shown and self._followed[1] != run:
            self._note = None  # the run began and ended since the last refresh
            self._show_end_of_run(run[0], now)
        self._followed = (shown, run)

    def _show_end_of_run(self, started: int, now: int) -> None:
        self._show_end(end_of_turn(self._control, started, now), now)
        self._notifier.ended(now - started)
