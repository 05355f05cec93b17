"""The page of installed plugins: where each is from and what it brings; a key switches one off and on."""

from collections.abc import Sequence
from functools import partial

from opencode_tui.schema.api.plugin import InstalledPlugin, PluginSwitch
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import breaks, clip, pad
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

NAME = 24
"""Most cells of the column with the names."""

_PREVIEW = "panel"
_PREVIEW_LINES = 4
"""Most rows of one thing that a plugin brings."""

_KINDS = ("skill", "command", "agent", "hook", "server")


class PluginsScreen(ListPage):
    """The installed plugins of the user. What a key changes has an effect from the next start."""

    scopes = ("page:plugins", "page")
    heading = "Plugins"
    every_s = 5.0

    def __init__(self, control: SessionController, plugins: Sequence[InstalledPlugin]) -> None:
        super().__init__()
        self._client = control.client.settings
        self._plugins = plugins
        self._is_changed = False

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the action for the selected plugin."""
        one = self._find()
        if one is None:
            return []
        return [KeyAction("plugin_switch", "switch off" if one.is_on else "switch on", lambda: self._switch(one))]

    def show_keys(self) -> None:
        """Draw the row of keys again; above it the last error, or from when on a change counts."""
        super().show_keys()
        if self._is_changed and not self.error:
            self.foot.show_message("This counts from the next start.", "success")

    def on_page_list_moved(self) -> None:
        """Update the keys and the preview for the selected row."""
        self.show_keys()
        self._show_preview()

    def _find(self) -> InstalledPlugin | None:
        return next((one for one in self._plugins if one.name == self.listing.chosen), None)

    def _switch(self, one: InstalledPlugin) -> None:
        request = PluginSwitch(name=one.name, is_on=not one.is_on)
        self.run_worker(partial(self._do, request), group="work", exit_on_error=False)

    async def _do(self, request: PluginSwitch) -> None:
        self.error = ""
        try:
            await self._client.switch_plugin(request)
            self._is_changed = True
        except OpencodeError as error:
            self.error = str(error)
        await self.read()

    async def load(self) -> None:
        """Read the installed plugins."""
        self._plugins = await self._client.plugins()

    def summary(self) -> str:
        """Return how many are installed."""
        return plural(len(self._plugins), "plugin")

    def draw(self) -> None:
        """Draw the list and the preview."""
        super().draw()
        self._show_preview()

    def entries(self) -> Sequence[ListRow]:
        """Return a row for each plugin: its name, its version, and what it brings or why it has no effect."""
        glyphs = self.listing.look.glyphs
        if not self._plugins:
            return [self.sentence("No plugins yet. Install one: opencode-tui plugin install FOLDER|GIT")]
        shown = {one.name: screen_line(" ".join(filter(None, [one.name, one.version]))) for one in self._plugins}
        room = min(NAME, max(map(len, shown.values())))
        return [
            self.row(
                one.name,
                (glyphs.running, "success") if one.is_on else (glyphs.waiting, "muted"),
                [
                    (f"{pad(clip(shown[one.name], room, glyphs.ellipsis), room)} ", "text"),
                    ("" if one.is_on else "off  ", "muted"),
                    (screen_line(_facts(one, f" {glyphs.separator} ")), "muted" if one.parts else "error"),
                ],
            )
            for one in self._plugins
        ]

    def _show_preview(self) -> None:
        one = self._find()
        self.preview.show(lambda room: self._preview_lines(one, room) if one is not None else ())

    def _preview_lines(self, one: InstalledPlugin, room: int) -> list[Sequence[Piece]]:
        muted, text = self.style("muted", _PREVIEW), self.style("text", _PREVIEW)
        commit = f" at {one.commit[:12]}" if one.commit else ""
        lines: list[Sequence[Piece]] = [[(screen_line(one.name), self.style("text", _PREVIEW, bold=True))]]
        lines += [[(line, muted)] for line in _folded(f"{one.source}{commit}", room)]
        lines.append([])
        for part in one.parts:
            lines += [[(line, text)] for line in _folded(part, room)]
        for problem in one.problems:
            lines += [[(line, self.style("warning", _PREVIEW))] for line in _folded(f"left out: {problem}", room)]
        return lines


def _facts(one: InstalledPlugin, separator: str) -> str:
    """Return how many things of each kind it brings, or why it brings none."""
    kinds = [part.split(" ", 1)[0] for part in one.parts]
    counts = [plural(kinds.count(kind), kind) for kind in _KINDS if kind in kinds]
    return separator.join(counts) or next(iter([*one.problems, *one.parts]), "")


def _folded(text: str, room: int) -> list[str]:
    """Return a text of a plugin on a few lines."""
    line = screen_line(" ".join(text.split()))
    return [line[start:end] for start, end in breaks(line, room)[:_PREVIEW_LINES]]
