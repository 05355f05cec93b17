"""The page of MCP servers: their state and what they add to requests, keys that start and stop one; at the right its tools."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from textual.strip import Strip

from opencode_tui.schema.api.mcp import McpServerStatus, McpState, McpTool
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, clip_middle, pad, wrap
from opencode_tui.text.quantity import amount, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction, opens
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.look import Glyphs
from opencode_tui.tui.widgets.row import Piece

NAME = 18
"""Most cells of the column with the servers' names."""

_PREVIEW = "panel"
_PREVIEW_LINES = 4
"""Most rows of a target, an error or the instructions in the preview."""

_WORDS: Mapping[McpState, str] = {
    "disabled": "off",
    "known": "not started",
    "starting": "starting",
    "connected": "running",
    "failed": "failed",
    "needs_auth": "needs sign-in",
    "needs_client_registration": "needs a client",
}
_STATE = max(map(len, _WORDS.values()))


class McpServersScreen(ListPage):
    """The MCP servers of the folder. What a key does to one lasts until the folder is closed; the settings stay."""

    scopes = ("page:mcp", "page")
    heading = "MCP servers"

    def __init__(
        self,
        control: SessionController,
        servers: Sequence[McpServerStatus],
        *,
        added: Callable[[], object],
        edited: Callable[[str], object],
    ) -> None:
        """`added` opens the form of a new server, `edited` the file that sets the server of this name."""
        super().__init__()
        self._added = added
        self._edited = edited
        self.said = ""
        """What was done before the page was opened."""
        self._client = control.client.mcp
        self._servers = servers
        self._tools: dict[str, Sequence[McpTool]] = {}
        """The tools of the servers that were selected, by name."""
        self._working = ""
        """The server that a key has just started or stopped, until it answers."""
        self._addresses: dict[str, str] = {}
        """The addresses of sign-ins that have begun, by server."""

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected server, and the one that adds a server."""
        one = self._find()
        add = KeyAction("mcp_add", "add a server", self._add)
        if one is None or self._working:
            return [add]
        return [*self._actions_of(one), add, KeyAction("mcp_edit", "open its file", partial(self._edit, one.name))]

    def show_keys(self) -> None:
        """Draw the row of keys again; above it the last error, or what was done before the page was opened."""
        super().show_keys()
        if self.said and not self.error:
            self.foot.show_message(screen_line(self.said), "success")

    def _add(self) -> None:
        self.close_page()
        self._added()

    def _edit(self, name: str) -> None:
        self.close_page()
        self._edited(name)

    def _actions_of(self, one: McpServerStatus) -> Sequence[KeyAction]:
        client, name = self._client, one.name
        if one.state in ("connected", "starting"):
            restart = KeyAction("mcp_restart", "restart", lambda: self._work(name, client.restart))
            return [restart, KeyAction("mcp_off", "switch off", lambda: self._work(name, client.disconnect))]
        if one.state in ("needs_auth", "needs_client_registration"):
            start = opens("sign in", lambda: self._begin_sign_in(name))
        else:
            start = opens("start", lambda: self._work(name, client.connect))
        if one.state == "disabled":
            return [start]
        return [start, KeyAction("mcp_off", "switch off", lambda: self._work(name, client.disconnect))]

    def on_page_list_moved(self) -> None:
        """Update the keys and the preview for the selected row."""
        self.show_keys()
        self._show_preview()
        if self.listing.chosen and self.listing.chosen not in self._tools:
            self.read_now()

    def _find(self) -> McpServerStatus | None:
        return next((one for one in self._servers if one.name == self.listing.chosen), None)

    def _work(self, name: str, act: Callable[[str], Awaitable[McpServerStatus]]) -> None:
        self._working, self.error = name, ""
        self.run_worker(partial(self._do, name, act), group="work", exit_on_error=False)
        self.draw()

    async def _do(self, name: str, act: Callable[[str], Awaitable[McpServerStatus]]) -> None:
        try:
            await act(name)
        except OpencodeError as error:
            self.error = str(error)
        self._working = ""
        await self.read()

    def _begin_sign_in(self, name: str) -> None:
        self.error = ""
        self.run_worker(partial(self._sign_in, name), group=f"sign-in {name}", exclusive=True, exit_on_error=False)

    async def _sign_in(self, name: str) -> None:
        try:
            self._addresses[name] = (await self._client.begin_sign_in(name)).authorization_url
            self.draw()
            await self._client.sign_in(name)
        except OpencodeError as error:
            self.error = str(error)
        finally:
            self._addresses.pop(name, None)
        await self.read()

    async def load(self) -> None:
        """Read the states, and the tools of the selected server."""
        chosen = self.listing.chosen
        self._servers = await self._client.servers()
        if chosen:
            self._tools[chosen] = await self._client.tools(chosen)

    def summary(self) -> str:
        """Return what all of them add to requests."""
        used = [one for one in self._servers if one.state != "disabled"]
        tools, tokens = sum(one.tools for one in used), sum(one.tokens for one in used)
        return f"{plural(tools, 'tool')}, {amount(tokens)} tokens" if tools else plural(len(self._servers), "server")

    def draw(self) -> None:
        """Draw the list and the preview."""
        super().draw()
        self._show_preview()

    def entries(self) -> Sequence[ListRow]:
        """Return a row for each server: its name, its state, and what it adds or why it failed."""
        glyphs = self.listing.look.glyphs
        if not self._servers:
            return [self.sentence("No servers in your settings yet.")]
        room = min(NAME, max(len(server.name) for server in self._servers))
        return [
            self.row(
                one.name,
                _sign(one.state, glyphs),
                [
                    (f"{pad(clip(screen_line(one.name), room, glyphs.ellipsis), room)} ", "text"),
                    (f"{pad('working' if one.name == self._working else _WORDS[one.state], _STATE)}  ", "muted"),
                    (
                        screen_line(_row_facts(one, f" {glyphs.separator} ")),
                        "error" if one.state == "failed" else "muted",
                    ),
                ],
            )
            for one in self._servers
        ]

    def _show_preview(self) -> None:
        one = self._find()
        self.preview.show(lambda room: self._preview_lines(one, room) if one is not None else ())

    def _preview_lines(self, one: McpServerStatus, room: int) -> list[Sequence[Piece] | Strip]:
        muted, text = self.style("muted", _PREVIEW), self.style("text", _PREVIEW)
        lines: list[Sequence[Piece] | Strip] = [[(screen_line(one.name), self.style("text", _PREVIEW, bold=True))]]
        mark = self.listing.look.glyphs.ellipsis
        lines += [[(line, muted)] for line in _folded(one.target, room, mark)]
        if address := self._addresses.get(one.name):
            lines += [[], [("Sign in with your browser, or open this address in one:", text)]]
            lines += [[(screen_line(address[at : at + room]), muted)] for at in range(0, len(address), room)]
            lines.append([])
        if one.error:
            lines += [[(line, self.style("error", _PREVIEW))] for line in _folded(one.error, room, mark)]
        for fault in one.faults:
            lines += [[(line, self.style("warning", _PREVIEW))] for line in _folded(fault, room, mark)]
        if one.retry_in:
            lines.append([(f"its next call starts it again in {one.retry_in / 1000:.0f} s", muted)])
        if one.output:
            lines += [[], [("Last output", text)], *([(screen_line(line), muted)] for line in one.output[-5:])]
        if one.instructions:
            lines += [
                [],
                [("Instructions", text)],
                *([(line, muted)] for line in _folded(one.instructions, room, mark)),
            ]
        tools = self._tools.get(one.name, ())
        if tools:
            width = min(room // 2, max(len(tool.name) for tool in tools))
            lines += [[], [("Tools", text), (f"  {amount(one.tokens)} tokens", muted)]]
            for tool in tools:
                name = pad(clip(screen_line(tool.name), width, mark), width)
                lines.append([(f"{name}  ", text), (screen_line(" ".join(tool.description.split())), muted)])
        return lines


def _sign(state: McpState, glyphs: Glyphs) -> tuple[str, str]:
    """Return the sign of a state, and its color."""
    match state:
        case "connected" | "starting":
            return glyphs.running, "success" if state == "connected" else "accent"
        case "failed":
            return glyphs.failed, "error"
        case "needs_auth" | "needs_client_registration":
            return glyphs.failed, "warning"
        case "known" | "disabled":
            return glyphs.waiting, "muted"


def _row_facts(one: McpServerStatus, separator: str) -> str:
    """Return the reason of a failure, else what the server provides."""
    if one.error and one.state != "disabled":
        return one.error
    if not one.is_listed:
        return "its tools are not known yet"
    counts = [(one.tools, "tool"), (one.prompts, "prompt"), (one.resources, "resource")]
    facts = [plural(count, noun) for count, noun in counts if count]
    return separator.join([*facts, *([f"{amount(one.tokens)} tokens"] if one.tokens else [])]) or "nothing"


def _folded(text: str, room: int, mark: str) -> list[str]:
    """Return a text of another program on a few lines; the end of a long one is kept, as the remedy is often there."""
    line = screen_line(" ".join(text.split()))
    return wrap(clip_middle(line, room * _PREVIEW_LINES - room // 2, mark), room)
