"""The page of permissions: what the user always allows in this project, with its use, and the rules of the chosen agent."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from opencode_tui.schema.api.grants import PermissionRules, StoredGrant
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.permission import Action, Rule
from opencode_tui.text.cells import clip, clip_front, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.text.grants import use_words
from opencode_tui.text.permission import short_source
from opencode_tui.text.quantity import plural, short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import NARROW, WIDE, ListRow
from opencode_tui.tui.state.controller import SessionController

NAME, PATTERN = 20, 44
"""Most cells of the columns with the permissions and the patterns."""

_HUES: dict[Action, str] = {"allow": "success", "ask": "warning", "deny": "error"}


class PermissionsScreen(ListPage):
    """Grants can be switched, edited and revoked; a rule of a file is changed in the file. `edited` asks for a grant's pattern."""

    has_preview = False
    scopes = ("page:permissions", "page")
    heading = "Permissions"
    every_s = 5.0

    def __init__(
        self,
        control: SessionController,
        rules: PermissionRules,
        places: Places,
        *,
        edited: Callable[[StoredGrant], object],
    ) -> None:
        super().__init__()
        self._control = control
        self._client = control.client.rules
        self._rules = rules
        self._places = places
        self._edited = edited

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected row."""
        grant = self._grant()
        if grant is not None:
            words = "switch off" if grant.is_on else "switch on"
            edit = KeyAction("permissions_edit", "edit", lambda: self._edit(grant))
            return [
                KeyAction("permissions_switch", words, lambda: self._work(self._switch(grant))),
                *([edit] if grant.is_on else []),
                KeyAction("permissions_revoke", "revoke", lambda: self._work(self._revoke(grant))),
            ]
        source = self._source()
        if source.startswith("/") and self._control.is_alone:
            return [KeyAction("permissions_edit", "open the file", lambda: self._work(self._open(Path(source))))]
        return []

    def _grant(self) -> StoredGrant | None:
        return next((one for one in self._rules.stored if _id(one) == self.listing.chosen), None)

    def _source(self) -> str:
        kind, _, at = self.listing.chosen.partition(":")
        return self._rules.sources[int(at)] if kind == "rule" and int(at) < len(self._rules.sources) else ""

    def _edit(self, grant: StoredGrant) -> None:
        self.close_page()
        self._edited(grant)

    def _work(self, work: Awaitable[object]) -> None:
        async def run() -> None:
            try:
                await work
            except OpencodeError as error:
                self.error = str(error)
                self.draw()
                return
            self.error = ""
            await self.read()

        self.run_worker(run, group="work", exit_on_error=False)

    async def _switch(self, grant: StoredGrant) -> None:
        await self._client.switch(grant.permission, grant.pattern, is_on=not grant.is_on)

    async def _revoke(self, grant: StoredGrant) -> None:
        await self._client.revoke(grant.permission, grant.pattern)

    async def _open(self, path: Path) -> None:
        if await open_file(self, path, 0):
            for widget in self.query("*"):
                widget.refresh()

    async def load(self) -> None:
        """Read the rules and grants."""
        self._rules = await self._client.list(self._rules.agent)

    def summary(self) -> str:
        """Return how many grants there are, and how many of them are off."""
        stored = self._rules.stored
        off = sum(not one.is_on for one in stored)
        return plural(len(stored), "grant") + (f", {off} off" if off else "")

    def entries(self) -> Sequence[ListRow]:
        """Return the grants, then the rules: those of files and variables first, then the built-in ones that hold."""
        rules = self._rules
        sources = [*rules.sources, *[""] * (len(rules.rules) - len(rules.sources))]
        last = {(one.permission, one.pattern): at for at, one in enumerate(rules.rules)}  # it overrides those like it
        places = sorted(last.values())
        rows = [self._head("Always allowed in this project")]
        rows += [self._grant_row(one) for one in rules.stored]
        if not rules.stored:
            rows.append(self.sentence("Nothing. A question's key for always adds a rule."))
        given = [at for at in places if sources[at]]
        for title, found in (
            (f"Rules of settings, agent {rules.agent} (last match wins)", given),
            ("Built-in rules", [at for at in places if not sources[at]]),
        ):
            if found:
                rows += [self.sentence(""), self._head(title)]
                rows += [self._rule_row(at, rules.rules[at], sources[at]) for at in found]
        return rows

    def _head(self, words: str) -> ListRow:
        return self.sentence(screen_line(words), "text", bold=True)

    def _columns(self, rule: Rule) -> list[tuple[str, str]]:
        mark, width = self.listing.look.glyphs.ellipsis, self.app.size.width
        named = (*self._rules.stored, *self._rules.rules)
        longest = max((cells(screen_line(one.permission)) for one in named), default=0)
        most = NAME if width >= NARROW else min(NAME, max(NAME // 2, longest))
        room = PATTERN if width >= WIDE else max(8, width - most - self._facts - 17)
        pattern = screen_line(short_path(rule.pattern, os.path.expanduser("~")))
        name = clip(screen_line(rule.permission), most, mark)
        return [(f"{pad(name, most)} ", "muted"), (f"{pad(clip(pattern, room, mark), room)} ", "text")]

    @property
    def _facts(self) -> int:
        """The cells of what is at the right of a row: no more than it needs, as the patterns have the rest."""
        width = self.app.size.width
        if width >= WIDE:
            return width // 3
        most = min(30, width // 3)
        mark = self.listing.look.glyphs.ellipsis
        texts = [*map(self._use, self._rules.stored), *map(self._place, self._rules.sources)]
        return max((cells(clip_front(one, most, mark)) for one in texts), default=0)

    def _use(self, grant: StoredGrant) -> str:
        use = use_words(grant) if self.app.size.width >= WIDE else f"{grant.used}×" if grant.used else ""
        return "  ".join(filter(None, ["outside" if grant.is_outside else "", use]))

    def _place(self, source: str) -> str:
        return screen_line(short_source(source, self._places))

    def _grant_row(self, grant: StoredGrant) -> ListRow:
        glyphs = self.listing.look.glyphs
        sign = (glyphs.running, "success") if grant.is_on else (glyphs.waiting, "muted")
        left = self.row(
            _id(grant), sign, [(f"{'on' if grant.is_on else 'off':<6}", "muted"), *self._columns(grant)]
        ).left
        facts = self._use(grant)
        return ListRow(left, lambda area: [(facts, self.style("muted", area))], _id(grant))

    def _rule_row(self, at: int, rule: Rule, source: str) -> ListRow:
        columns = [(f"{rule.action:<6}", _HUES[rule.action]), *self._columns(rule)]
        left = self.row(f"rule:{at}", (" ", "muted"), columns).left
        mark = self.listing.look.glyphs.ellipsis
        shown = clip_front(self._place(source), self._facts, mark)
        return ListRow(left, lambda area: [(shown, self.style("muted", area))], f"rule:{at}")


def _id(grant: StoredGrant) -> str:
    return f"grant:{grant.permission}:{grant.pattern}"
