"""When the parts around the conversation are updated: at once for questions, else after a short delay."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.session.session import UNTIL_KEY
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.parts import ChatParts
from opencode_tui.tui.chrome.activity import INTERRUPT, Activity, Kind
from opencode_tui.tui.chrome.status_facts import OutsideFacts
from opencode_tui.tui.chrome.words import (
    Mode,
    activity_of,
    end_of_turn,
    hints_of,
    prompt_hints,
    shell_status,
    status_of,
    title_of,
)
from opencode_tui.tui.sessions.sidebar import sidebar_facts
from opencode_tui.tui.state.session_facts import WAITS_FOR_MODEL
from opencode_tui.tui.terminal_title import Event, Notifier

if TYPE_CHECKING:
    from opencode_tui.tui.chrome.check_row import CheckRow

IDLE_S = 20
"""Seconds between updates while nothing happens, as ages change."""

READABLE_MS = 3_000
"""Milliseconds for which a message is shown before the end of a run replaces it."""

DELAY_S = 0.3
"""Seconds between updates of numbers that grow with every token, while nothing else is drawn."""

_JOIN_S = 0.25
"""Seconds after which they are updated in a frame that is drawn anyway: one of their own costs as much again."""

_SOON = "soon"


class ChromeRefresh:
    """Updates the widgets whose content changed."""

    def __init__(
        self,
        parts: ChatParts,
        *,
        sync_panels: Callable[[], object],
        is_asking: Callable[[], bool],
        ended: Callable[[], object],
    ) -> None:
        """`sync_panels` shows the questions that wait; `is_asking` returns whether a panel replaces the prompt.

        `ended` is called at the end of a run of the shown session.
        """
        self._parts = parts
        self._control = parts.control
        self._sync_panels = sync_panels
        self._is_asking = is_asking
        self._ended = ended
        self._notifier = Notifier(parts.app.notify_terminal, self._run_notify)
        self._outside = OutsideFacts(parts.control, lambda: parts.settings, parts.do)
        self._note: Activity | None = None
        self._noted_at = 0
        self._wait: Activity | None = None
        """What is being loaded, if that takes longer than a moment."""
        self._last_message: Activity | None = None
        """The last message that was given, not the end of a run."""
        self._busy: tuple[str, int] | None = None
        self._followed: tuple[str | None, tuple[int, int] | None] = (None, None)
        """The session that the last refresh showed, and the last run of it that had ended."""
        self._doing = ""
        """What the session did at the last update."""
        self._check: CheckRow | None = None
        self._timer: Timer | None = None
        self._asked_at = 0.0
        parts.view.drawn.append(self._join_frame)
        parts.screen.set_interval(IDLE_S, self.refresh)

    def _run_notify(self, event: Event, words: str) -> None:
        """Run the user's command for a notification, while the terminal has no focus."""
        if not self._parts.settings.has_notify_command or self._parts.app.app_focus:
            return
        title = self._control.facts.title if self._control.facts is not None else ""
        message = screen_line(" ".join(f"{words}: {title}".split() if title else words.split()))
        facts = Notification(event=event, message=message, session_id=self._control.session_id, title=title)
        self._parts.do(self._control.client.settings.notify(facts))

    def show_note(self, kind: Kind, words: str, facts: str = "", *, for_ms: float = 0) -> None:
        """Show a message in the activity line until the next key or run, with `for_ms` for so long at most.

        During a run the activity replaces it after 3 s, except for a failure.
        """
        note = Activity(kind, screen_line(" ".join(words.split())), screen_line(facts))
        self._change_note(note)
        if for_ms > 0:
            self._parts.screen.set_timer(for_ms / 1000, lambda: self._change_note(None) if self._note is note else None)

    def show_wait(self, wait: Activity) -> None:
        """Show what is being loaded in the activity line, instead of anything else, until `end_wait`."""
        self._wait = wait
        self.refresh()

    def end_wait(self, wait: Activity) -> None:
        """Show the activity again that a wait replaced, if it did."""
        if self._wait is wait:
            self._wait = None
            self.refresh()

    @property
    def has_note(self) -> bool:
        """Whether a message is shown."""
        return self._note is not None

    def clear_note(self) -> None:
        """Remove the message from the activity line."""
        self._change_note(None)

    def _change_note(self, note: Activity | None) -> None:
        if note != self._note:
            self._note, self._last_message, self._noted_at = note, note, self._control.now()
            self.refresh()

    def _remove_note(self, now: int) -> None:
        """Remove the message when a run starts, but not one that came with it and cannot have been read."""
        if self._note is not self._last_message or now >= self._noted_at + READABLE_MS:
            self._note = None

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

        self._parts.screen.set_timer(left / 1000, show)

    def soon(self) -> None:
        """Update after a short delay; at once for a new question, when a run starts or ends, and when the model responds."""
        facts = self._control.facts
        responds = self._doing == WAITS_FOR_MODEL and facts is not None and facts.word != WAITS_FOR_MODEL
        if self._control.pop_urgent() or responds:
            self.refresh()
        elif self._timer is None or self._timer.name != _SOON:  # that of the seconds of a run would be late
            if self._timer is not None:
                self._timer.stop()
            self._timer = self._parts.screen.set_timer(DELAY_S, self.refresh, name=_SOON)
            self._asked_at = time.monotonic()

    def _join_frame(self) -> None:
        """Update in a frame of the conversation, if it is nearly time."""
        timer = self._timer
        if timer is not None and timer.name == _SOON and time.monotonic() - self._asked_at > _JOIN_S:
            self.refresh()

    def refresh(self) -> None:
        """Update everything now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        parts, control, now = self._parts, self._control, self._control.now()
        if not parts.screen.is_mounted:
            return
        self._follow_run(now)
        if control.is_busy and now >= self._noted_at + READABLE_MS and not self._is_failure:
            self._note = None
        self._sync_panels()
        self._notifier.follow(len(control.questions()))
        parts.app.title_line.show(control.facts.title if control.facts is not None else "", self._state_sign())
        parts.app.progress.show("asks" if control.folder.asking else "busy" if control.folder.statuses else "")
        parts.header.show(title_of(control, is_folded=parts.is_folded))
        keys = parts.keymap
        send_key = "" if self._is_asking() else keys.first("input_submit")  # a panel has its own use of it
        doing = activity_of(control, now, interrupt_key=keys.first(INTERRUPT), send_key=send_key)
        self._doing = doing.word
        parts.activity.show(self._wait or self._note or doing)
        self._show_status()
        self._show_queue()
        self._show_check(now)
        parts.prompt.editor.show_hints(prompt_hints(control, has_examples=parts.prompt.has_examples))
        if parts.welcome.display:
            parts.welcome.show(control, parts.notices, parts.keymap.first, has_tips=parts.settings.has_tips)
        if parts.browser.display:
            parts.browser.follow(now)
        elif parts.sidebar.display:
            budget, home = parts.settings.session_budget, os.path.expanduser("~")
            parts.sidebar.show(sidebar_facts(control, budget=budget, home=home))
        if control.facts is not None and control.facts.is_context_changed and not control.is_busy:
            parts.do(self._measure())
        if control.folder.is_languages_changed:
            parts.do(self._read_languages())
        if control.is_busy and self._timer is None:
            self._timer = parts.screen.set_timer(1, self.refresh)

    @property
    def _is_failure(self) -> bool:
        return self._note is not None and self._note.kind == "failed"

    async def _read_languages(self) -> None:
        await self._control.read_languages()
        self.refresh()

    async def _measure(self) -> None:
        await self._control.measure_context()
        self.refresh()

    def _state_sign(self) -> str:
        """Return a sign for the window title: a session needs an answer, works, or has finished since the last key."""
        glyphs, folder = self._parts.header.look.glyphs, self._control.folder
        if folder.asking:
            return glyphs.asks
        if folder.statuses:
            return glyphs.running
        return glyphs.done if self._note is not None and self._note.kind == "done" else ""

    def _mode(self) -> Mode:
        if self._parts.prompt.is_shell:
            return "shell"
        return "reading" if self._parts.is_reading else "asking" if self._is_asking() else ""

    def _show_status(self) -> None:
        parts, control, mode = self._parts, self._control, self._mode()
        chosen, key, vim = parts.settings.status_fields, parts.keymap.first, parts.prompt.vim_mode
        needs_branch = "branch" in chosen if chosen else parts.is_folded
        self._outside.follow(control.now(), self.refresh, needs_branch=needs_branch)
        if mode == "shell":
            parts.status.show(shell_status(key, vim))
            return
        width, delivery = parts.screen.size.width, parts.sender.delivery
        hints = hints_of(control, mode=mode, delivery=delivery, width=width, key=key)
        parts.status.show(
            status_of(
                control,
                parts.settings,
                parts.notices,
                is_folded=parts.is_folded,
                outside=self._outside,
                hints=hints,
                vim=vim,
            )
        )

    def _show_queue(self) -> None:
        parts = self._parts
        wanted = (("input_submit", "send now", "prompt_queue_send"), ("prompt_queue_edit", "edit", "prompt_queue_edit"))
        keys = [(parts.keymap.first(action), words, act) for action, words, act in wanted]
        texts = [screen_line(" ".join(text.split())) for text in self._control.waiting.texts]
        parts.queue.show(texts, [one for one in keys if one[0]])

    def _show_check(self, now: int) -> None:
        """Show the check of the session; its row is made with the first one."""
        parts, facts = self._parts, self._control.facts
        has_check = facts is not None and UNTIL_KEY in (facts.info.metadata or {})
        if self._check is not None:
            self._check.display = has_check
        if facts is None or not has_check:
            return
        from opencode_tui.schema.session.until import until_of  # few sessions have a check

        until = until_of(facts.info)
        if until is None:
            return
        if self._check is None:
            from opencode_tui.tui.chrome.check_row import CheckRow

            self._check = CheckRow()
            parts.screen.mount(self._check, before=parts.queue)
        is_idle, last = not self._control.is_busy, until.last
        wanted = [("check_run", "again")] if is_idle else []
        wanted += [("check_send", "send")] if is_idle and last is not None and not last.has_passed else []
        keys = [(parts.keymap.first(action), words, action) for action, words in wanted]
        edited = 0 if last is None else facts.edited_since(last.message_id)
        self._check.show(until, edited, now, [one for one in keys if one[0]])

    def _follow_run(self, now: int) -> None:
        """Remove the message when a run starts, summarize the run when it ends."""
        control = self._control
        shown = control.session_id
        run = control.folder.last_run.get(shown or "")
        if control.is_busy and shown is not None:
            if self._busy is None or self._busy[0] != shown:
                self._busy = shown, now
                self._remove_note(now)
        elif self._busy is not None:
            session_id, started = self._busy
            self._busy = None
            if session_id == shown:
                self._show_end_of_run(started, now)
        elif run is not None and self._followed[0] == shown and self._followed[1] != run:
            self._remove_note(now)  # the run began and ended since the last refresh
            self._show_end_of_run(run[0], now)
        self._followed = (shown, run)

    def _show_end_of_run(self, started: int, now: int) -> None:
        self._show_end(end_of_turn(self._control, started, now), now)
        self._notifier.ended(now - started)
        self._ended()
