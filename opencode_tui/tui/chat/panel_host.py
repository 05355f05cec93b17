"""The panel that replaces the prompt: panels of the user's actions come before questions of agents."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from textual import events
from textual.widget import AwaitMount, Widget

from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.text.permission import Act, stored_words
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.parts import ChatParts
from opencode_tui.tui.chat.refresh import ChromeRefresh
from opencode_tui.tui.dialogs.panel import Panel
from opencode_tui.tui.dialogs.permission import PermissionPanel
from opencode_tui.tui.dialogs.permission_case import load_case
from opencode_tui.tui.dialogs.plan import PlanPanel, load_plan
from opencode_tui.tui.dialogs.question import QuestionPanel
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.keys.common import CANCEL
from opencode_tui.tui.keys.router import router_of
from opencode_tui.tui.prompt.draft import Draft
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.state.folder import Asking

BUILDER = "build"
"""The agent that carries out a plan."""

AskingPanel = PermissionPanel | QuestionPanel | PlanPanel


class PanelHost:
    """Shows one panel in the chat's `#ask`, or the prompt."""

    def __init__(self, parts: ChatParts, chrome: ChromeRefresh) -> None:
        self._parts = parts
        self._chrome = chrome
        self._control = parts.control
        self._user_panel: Widget | None = None
        self._question: AskingPanel | None = None
        self._text_panel: TextPanel | None = None
        self._begun: tuple[str, str] = ("", "")
        """What is written to an agent in a panel with a text, and for what: it is there again if the panel is opened again."""
        self._loading: str | None = None
        self._answered: set[str] = set()
        """The IDs of questions whose answer is sent, or on its way: none is shown again, unless that fails."""
        self._arranged: Widget | None = None
        """The panel that was shown last: it goes on accepting keys when something comes behind it."""

    @property
    def is_open(self) -> bool:
        """Return whether a panel replaces the prompt."""
        return self._shown is not None

    def is_for_prompt(self, event: events.Key | events.Paste, focused: Widget | None) -> bool:
        """Return whether a key is for the prompt although it has no focus: a question accepts no key yet, or has just ended."""
        shown = self._shown
        if isinstance(shown, Panel):
            is_text = isinstance(event, events.Paste) or event.is_printable
            return focused in (shown, None) and not shown.accepts_key(event, is_text=is_text)
        if shown is not None or focused is None:
            return shown is None
        parents = focused.ancestors_with_self
        return self._parts.ask in parents and self._parts.prompt not in parents

    def receive_key(self, event: events.Key, focused: Widget | None) -> bool:
        """Let the panel that is shown handle a key at once; return whether it has one.

        In the queue of the panel, a key behind the one that closes it would still be for this panel, and be lost. Of a panel with
        a text this is the key that cancels: the editor has the others.
        """
        shown = self._shown
        if isinstance(shown, Panel) and shown is focused and shown.is_mounted:
            shown.receive_key(event)
            return True
        if isinstance(shown, TextPanel) and focused in (shown, shown.editor):
            found = router_of(shown).find(event.key, shown)
            return found is not None and found.id == CANCEL and router_of(shown).handle(event, shown)
        return False

    @property
    def closes_on_escape(self) -> bool:
        """Return whether escape closes the panel instead of interrupting the run."""
        return self._user_panel is not None or self._text_panel is not None

    @property
    def _shown(self) -> Widget | None:
        return self._user_panel or self._text_panel or self._question

    def open(self, panel: Widget) -> None:
        """Show a panel of an action of the user."""
        self._remove(self._user_panel)
        self._chrome.clear_note()
        self._user_panel = panel
        if isinstance(panel, Panel) and not panel.is_asked_for:
            panel.typed_at = self._typed_at
        self._mount(panel)
        self._arrange()

    def close(self) -> None:
        """Close the panel of the user's action."""
        self._remove(self._user_panel)
        self._user_panel = None
        self._arrange()

    def sync(self) -> None:
        """Show the first waiting question; close one that was answered elsewhere.

        Calls that run side by side may ask in another order than theirs: a question that accepts no key yet gives way.
        """
        waiting = self._waiting()
        if waiting and self._question is not None and self._question.is_guarded and self._request_id != waiting[0].id:
            self._close_question()
        if self._question is not None and self._request_id not in {one.id for one in waiting}:
            words = self._written()
            self._close_question()
            self._put_into_prompt(words)
        if waiting and self._question is None and self._loading != waiting[0].id:
            self._loading = waiting[0].id
            self._parts.do(self._load(waiting[0]))
        elif self._question is not None:
            self._question.set_place((1, len(waiting)))

    def come_back(self, since: int) -> None:
        """Ignore keys for a while at a question that appeared since a moment in ms: the user saw something else until now."""
        shown = self._shown
        if isinstance(shown, Panel) and not shown.is_asked_for:
            shown.restart(since)

    def _typed_at(self) -> int | None:
        """Return when the last key for the prompt came; None if nothing is written there."""
        editor = self._parts.prompt.editor
        return editor.typed_at if editor.text else None

    def _waiting(self) -> list[Asking]:
        """Return the questions that wait for the user."""
        return [one for one in self._control.questions() if one.id not in self._answered]

    @property
    def _request_id(self) -> str:
        if isinstance(self._question, PermissionPanel):
            return self._question.case.request.id
        return self._question.request.id if self._question is not None else ""

    async def _load(self, request: Asking) -> None:
        try:
            panel = await self._make(request)
        finally:
            if self._loading == request.id:
                self._loading = None
        waiting = self._waiting()
        if not waiting or waiting[0].id != request.id:  # answered, or one of an earlier call came meanwhile
            self.sync()
            return
        if self._request_id == request.id:
            return
        self._close_question()
        self._question = panel
        panel.typed_at = self._typed_at
        await self._parts.ask.mount(panel)
        self._arrange()
        self._chrome.refresh()

    async def _make(self, request: Asking) -> AskingPanel:
        place = (1, len(self._waiting()))
        if isinstance(request, QuestionRequest):
            plan = await load_plan(self._control.client, request, is_local=self._control.is_alone)
            if plan is not None:
                return PlanPanel(
                    request,
                    plan,
                    place=place,
                    build=lambda yes: self._send(request, lambda: self._build(request, yes)),
                    keep=lambda no: self._ask_what_to_change(request, no),
                    edit=self._edit_plan if self._control.is_alone else None,
                )
            return QuestionPanel(
                request,
                place=place,
                answer=lambda answers: self._answer_question(request, answers),
                dismiss=lambda: self._send(request, lambda: self._control.client.questions.reject(request.id)),
                write=lambda: self._ask_for_answer(request),
            )
        case = await load_case(self._control.client, request, origin=self._origin(request.session_id))
        acts: Mapping[Act, Callable[[], None]] = {
            "once": lambda: self._reply(request, "once"),
            "host": lambda: self._reply(request, "always", host=True),
            "always": lambda: self._reply(request, "always"),
            "edit": lambda: self._edit_rule(request),
            "reject": lambda: self._ask_for_reason(request),  # what the agent should do instead
            "leave": lambda: self._reply(request, "reject"),
        }
        return PermissionPanel(case, place=place, acts=acts, decline=lambda: self._parts.do(self._decline(request)))

    def _origin(self, session_id: str) -> str:
        info = self._control.folder.sessions.get(session_id)
        if session_id == self._control.session_id or info is None:
            return ""
        return f"asked in: {info.title}"

    def _ask_for_reason(self, request: PermissionRequest) -> None:
        ask = TextAsk(
            "Reject: what should the agent do instead?", "reject", hint="leave empty to stop the turn", bar="warning"
        )
        self._open_words(
            request.id, ask, lambda words: self._reply(request, "reject", message=words or None), is_last=True
        )

    def _edit_rule(self, request: PermissionRequest) -> None:
        """Ask for the rule to store; several patterns are lines."""
        ask = TextAsk(
            f"Always allow in this project ({screen_line(request.permission)})",
            "always allow",
            text="\n".join(screen_line(pattern) for pattern in request.always),
            hint="* is any text",
            bar="warning",
        )

        self._begun = ("", "")

        def done(text: str) -> None:
            patterns = [line.strip() for line in text.split("\n") if line.strip()]
            if patterns:
                self._reply(request, "always", always=patterns)

        self._open_text_panel(ask, done)

    def _ask_for_answer(self, request: QuestionRequest) -> None:
        panel = self._question

        def done(words: str) -> None:
            self._close_text_panel()
            if isinstance(panel, QuestionPanel):
                panel.write(words)

        number = panel.number if isinstance(panel, QuestionPanel) else 0
        self._open_words(f"{request.id} {number}", TextAsk("Type your answer", "answer"), done)

    async def _build(self, request: QuestionRequest, yes: str) -> None:
        await self._control.client.questions.reply(request.id, [[yes]])
        choice = self._control.choice
        if BUILDER in {one.name for one in choice.agents}:
            choice.agent = BUILDER  # which works on the plan now
        self._chrome.refresh()

    def _ask_what_to_change(self, request: QuestionRequest, no: str) -> None:
        ask = TextAsk("Keep planning: what should change?", "keep planning", hint="leave empty to stop the turn")
        self._open_words(request.id, ask, lambda words: self._answer_question(request, [[words or no]]), is_last=True)

    def _open_words(self, name: str, ask: TextAsk, done: Callable[[str], object], *, is_last: bool = False) -> None:
        """Ask for words for an agent; what was written under this name before is there again.

        With `is_last` nothing follows them: if they cannot be sent, the question is shown again.
        """
        known, words = self._begun
        self._begun = (name, words if known == name else "")

        def submit(words: str) -> None:
            self._begun = (name, words if is_last else "")
            done(words)

        self._open_text_panel(replace(ask, text=self._begun[1]), submit)

    def _written(self) -> str:
        """Return what is written to an agent in the panel that is shown; empty for other texts."""
        panel = self._text_panel
        return panel.editor.text if panel is not None and self._begun[0] else ""

    def _put_into_prompt(self, words: str) -> None:
        """Keep what was written for a question that is gone, such as one that was answered in another terminal."""
        if words.strip():
            self._parts.prompt.put_back(Draft(words))
            self._chrome.show_note("note", "The question has ended", "what you wrote is in the prompt")

    def _open_text_panel(self, ask: TextAsk, done: Callable[[str], object]) -> None:
        self._text_panel = TextPanel(ask, done=done, back=lambda: self._close_text_panel(is_back=True))
        self._mount(self._text_panel)
        self._arrange()

    def _close_text_panel(self, *, is_back: bool = False) -> None:
        if is_back:
            self._begun = (self._begun[0], self._written())
        self._remove(self._text_panel)
        self._text_panel = None
        self._arrange(is_back=is_back)

    def _send(self, request: Asking, work: Callable[[], Awaitable[object]]) -> None:
        """Close a question and do the work that answers it, once: a key right behind the one that answers is not for it.

        Until the engine has the answer the question still waits there; only one whose answer fails is shown again.
        """
        if request.id not in self._answered:
            self._answered.add(request.id)
            self._close_question()
            self._parts.do(self._sent(request, work))

    async def _sent(self, request: Asking, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception:
            self._answered.discard(request.id)
            self.sync()
            raise

    def _reply(
        self,
        request: PermissionRequest,
        reply: Reply,
        *,
        message: str | None = None,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> None:
        async def work() -> None:
            await self._control.client.permissions.reply(request.id, reply, message, always=always, host=host)
            if reply == "always":
                self._chrome.show_note("done", *stored_words(request, always, host=host))

        self._send(request, work)

    async def _decline(self, request: PermissionRequest) -> None:
        await self._control.client.permissions.decline(request.id)
        self._chrome.show_note("done", "Not suggested again")

    def _edit_plan(self, file: Path) -> None:
        self._parts.do(self._edit_and_show(file))

    async def _edit_and_show(self, file: Path) -> None:
        self._parts.edit_file(file)
        text = await asyncio.to_thread(file.read_text, "utf-8", "replace")
        self._parts.refresh_all()
        if isinstance(self._question, PlanPanel):
            self._question.show_plan(text)

    def _answer_question(self, request: QuestionRequest, answers: Sequence[Sequence[str]]) -> None:
        self._send(request, lambda: self._control.client.questions.reply(request.id, answers))

    def _close_question(self) -> None:
        self._remove(self._text_panel)
        self._remove(self._question)
        self._question = self._text_panel = None
        self._arrange()

    def _mount(self, panel: Widget) -> None:
        """Mount a panel; keys that follow wait until it has them: what is typed behind its key is for it, not for the prompt."""
        mounted = self._parts.ask.mount(panel)
        if isinstance(panel, TextPanel):
            self._parts.do(self._release_keys(mounted, panel, self._parts.app.hold_until_shown(panel.cancel)))

    async def _release_keys(self, mounted: AwaitMount, panel: TextPanel, release: Callable[[], None]) -> None:
        try:
            await mounted
            if panel is self._shown:
                self._parts.screen.set_focus(panel.editor)
        finally:
            release()

    def _remove(self, panel: Widget | None) -> None:
        if panel is not None:
            panel.remove()

    def _arrange(self, *, is_back: bool = False) -> None:
        """Show the panel with the highest priority, or the prompt; `is_back`: the user has left a panel in front of it."""
        shown = self._shown
        for panel in (self._user_panel, self._text_panel, self._question):
            if panel is not None:
                panel.display = panel is shown
        self._parts.screen.set_class(shown is not None, "-asking")
        if shown is None:
            self._parts.prompt.display = True
        if self._parts.is_browsing and self._user_panel is None:
            self._parts.browser.focus()  # keys of the browser must not answer a question that appears
        else:
            self.focus(is_back=is_back or shown is self._arranged)
        self._arranged = shown
        if shown is not None:  # last: a widget that is hidden with the focus gives it up at some later time
            self._parts.prompt.display = False
        self._chrome.soon()

    def focus(self, *, is_back: bool = False) -> None:
        """Focus the shown panel, or the prompt. A panel accepts no key before it can be read, unless the user goes back to it."""
        target = self._shown or self._parts.prompt.editor
        if isinstance(target, Panel) and target.is_mounted and not is_back:
            target.guard_again()
        if isinstance(target, Panel | Editor) and target.is_mounted:
            self._parts.screen.set_focus(target)  # at once: the next key may be waiting already
        else:
            target.focus()
