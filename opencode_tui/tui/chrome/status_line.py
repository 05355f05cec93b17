"""The status line: agent and model, the used share of the context, and the keys that are useful now."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from opencode_tui.text.cells import clip
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

_META = "act"


class Pressed(Message):
    """A hint was clicked."""

    def __init__(self, action_id: str) -> None:
        super().__init__()
        self.action_id = action_id


def pressing(action_id: str) -> Style:
    """Return the style of text that runs an action when it is clicked; empty without an action."""
    return Style(meta={_META: action_id}) if action_id else Style()


def pressed(event: events.Click) -> str:
    """Return the action of the clicked hint; empty outside of hints."""
    return str(event.style.meta.get(_META, ""))


NARROW = 60
"""Cells up to which only the agent and the share of the context are shown."""


@dataclass(frozen=True, slots=True)
class Status:
    """Content of the line; `share` and `cost` are empty while the sidebar shows them.

    `approvals` is the session's mode; `sandbox` is empty until it is known, `is_confined` whether it works,
    `no_sandbox` why it does not.
    """

    agent: str = ""
    model: str = ""
    share: str = ""
    cost: str = ""
    approvals: str = ""
    sandbox: str = ""
    is_confined: bool = False
    no_sandbox: str = ""
    is_exposed: bool = False
    """Whether confined commands can change this program."""
    branch: str = ""
    """The branch with a sign for changes; empty while the sidebar shows it."""
    folder: str = ""
    text: str = ""
    """What the user's command printed."""
    has_failed: bool = False
    """Whether that command failed."""
    has_reached_plan: bool = False
    """Whether the limit of the plan that pays for the model is reached."""
    fields: Sequence[str] = ()
    """The order of the fields; empty for the default."""
    waiting: int = 0
    """Other sessions that need an answer, while the sidebar does not show them."""
    background: int = 0
    """Background commands of the session that run, while the sidebar does not show them."""
    vim: str = ""
    """The mode of vim in the prompt; empty without it."""
    hints: tuple[tuple[str, str, str], ...] = ()
    """(key, description, action id), the most important last."""


FIELDS = (
    "agent",
    "model",
    "context",
    "cost",
    "waiting",
    "background",
    "approvals",
    "sandbox",
    "branch",
    "folder",
    "command",
)
"""The fields in their default order; those without content take no space."""

LONGEST_TEXT = 40
"""Cells of what the user's command printed."""


class StatusLine(Rows):
    """The last row."""

    status = Status()

    def show(self, status: Status) -> None:
        """Show another status."""
        if status != self.status:
            self.status = status
            self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the one row."""
        palette, status = self.look.palette, self.status
        fill = palette.area("background")
        if width <= NARROW:
            left = [*self._agent(), *self._waiting(is_brief=True), *self._background(is_brief=True)]
            left += self._safety(is_brief=True)
            share = (status.share, palette.style("text"))
            hints = self._hints(width - measure([*left, share]) - 6)
            right = [share, ("   ", fill), *hints] if hints else [share, ("  ", fill)]
            return [row(width, left, right, fill=fill)]
        left, hints = self._arranged(width)
        return [row(width, left, hints, fill=fill, mark=self.look.glyphs.ellipsis)]

    def _arranged(self, width: int) -> tuple[list[Piece], list[Piece]]:
        """Return the fields and the hints, which are needed more: the branch, words of fields, then the cost make room for one."""
        chosen = self.status.fields
        order = [*chosen, *(one for one in ("waiting", "background") if one not in chosen)] if chosen else FIELDS
        if chosen:
            left = self._fields(order)
            hints = self._hints(width - measure(left) - 3)
            left = left if hints else self._fields(order, brevity=2)
            return left, hints or self._hints(width - measure(left) - 3)
        without_branch = [one for one in order if one != "branch"]
        whole, short = self._fields(order), self._fields(without_branch)
        brief = self._fields(without_branch, brevity=1)
        briefest = self._fields([one for one in without_branch if one != "cost"], brevity=2)
        for left, fewest in ((whole, 2), (short, 2), (whole, 1), (short, 1), (brief, 1), (briefest, 1)):
            if hints := self._hints(width - measure(left) - 3, fewest=fewest):
                return left, hints
        return briefest, []

    def _fields(self, order: Sequence[str], *, brevity: int = 0) -> list[Piece]:
        left = [piece for field in order for piece in self._field(field, brevity) if piece[0]]
        is_indented = bool(left) and left[0][0].startswith(" ")
        return left if is_indented else [(" ", self.look.palette.area("background")), *left]

    def _field(self, field: str, brevity: int) -> Sequence[Piece]:
        """Return a field with the gap before it; a brevity of 1 shortens what has a sign, one of 2 waiting sessions too."""
        palette, status, is_brief = self.look.palette, self.status, brevity > 0
        muted, text = palette.style("muted"), palette.style("text")
        match field:
            case "agent":
                return self._agent()
            case "model":
                return [(f"  {status.model}" if status.model else "", muted)]
            case "context":
                return [(f"   {status.share}" if status.share else "", text)]
            case "cost":
                style = palette.style("warning") if status.has_reached_plan else muted
                return [(f"  {status.cost}" if status.cost else "", style)]
            case "waiting":
                return self._waiting(is_brief=brevity > 1)
            case "background":
                return self._background(is_brief=is_brief)
            case "approvals":
                return self._approvals()
            case "sandbox":
                has_sign_only = is_brief and self.status.is_confined and not self.status.is_exposed
                return self._sandbox(is_brief=has_sign_only, is_short=is_brief)
            case "branch":
                return [(f"   {status.branch}" if status.branch else "", muted)]
            case "folder":
                return [(f"   {status.folder}" if status.folder else "", muted)]
            case "command" if status.text:
                shown = clip(status.text, LONGEST_TEXT, self.look.glyphs.ellipsis)
                return [(f"   {shown}", palette.style("warning" if status.has_failed else "text"))]
            case _:
                return []

    def _agent(self) -> list[Piece]:
        palette, status = self.look.palette, self.status
        agent = [(" ", palette.area("background")), (status.agent, palette.style("text", bold=True))]
        if status.vim:
            agent.append((f"   {status.vim}", palette.style("muted" if status.vim == "vim insert" else "text")))
        return agent

    def _waiting(self, *, is_brief: bool) -> list[Piece]:
        """Return how many other sessions need an answer; a click opens the list of sessions."""
        count = self.status.waiting
        words = f"   {self.look.glyphs.asks} {count}"
        if not is_brief:
            words += f" need{'s' if count == 1 else ''} you"
        style = self.look.palette.style("warning", bold=True) + pressing("session_list")
        return [(words, style)] if count else []

    def _background(self, *, is_brief: bool) -> list[Piece]:
        """Return how many background commands run; a click opens their page."""
        count = self.status.background
        words = f"   {self.look.glyphs.running} {count}{'' if is_brief else ' in the background'}"
        return [(words, self.look.palette.style("accent") + pressing("background_view"))] if count else []

    def _safety(self, *, is_brief: bool) -> list[Piece]:
        """Return the mode of approvals and the sandbox; in brief only the sign of a sandbox."""
        return [*self._approvals(), *self._sandbox(is_brief=is_brief)]

    def _approvals(self) -> list[Piece]:
        approvals = self.status.approvals
        style = self.look.palette.style({"normal": "muted", "auto": "warning"}.get(approvals, "text"))
        return [(f"   {approvals}", style + pressing("approvals_list"))] if approvals else []

    def _sandbox(self, *, is_brief: bool, is_short: bool = False) -> list[Piece]:
        """Return the sandbox: in brief only its sign, shortened without the reason why there is none."""
        palette, glyphs, status = self.look.palette, self.look.glyphs, self.status
        if not status.sandbox:
            return []
        sign = glyphs.sandbox if status.is_confined else glyphs.no_sandbox
        reason = f": {status.no_sandbox}" if status.no_sandbox and not is_short else ""
        words = f"   {sign}" if is_brief else f"   {sign} {self.look.words(f'{status.sandbox}{reason}')}"
        return [(words, palette.style("muted" if status.is_confined and not status.is_exposed else "warning"))]

    def on_click(self, event: events.Click) -> None:
        """Handle a click on a hint like its key."""
        if act := pressed(event):
            self.post_message(Pressed(act))

    def _hints(self, room: int, *, fewest: int = 1) -> list[Piece]:
        """Return as many hints as fit, the most important ones; none if these are not `fewest`, where there are so many."""
        palette = self.look.palette
        shown = list(self.status.hints)
        while len(shown) >= max(1, min(fewest, len(self.status.hints))):
            pieces: list[Piece] = []
            for key, words, act in shown:
                meta = pressing(act)
                pieces += [("   " if pieces else "", palette.area("background")), (key, palette.style("text") + meta)]
                pieces.append((f" {words}", palette.style("muted") + meta))
            if measure(pieces) + 2 <= room:
                return [*pieces, ("  ", palette.area("background"))]
            shown.pop(0)
        return []
