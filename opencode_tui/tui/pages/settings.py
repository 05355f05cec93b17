"""The settings page: every setting with its value and source, found by typing, changed with the widget of its type."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from textual import events
from textual.strip import Strip

from opencode_tui.schema.api.keybinds import ACTIONS, BY_ID, LEADER, MAIN_SCOPES, TYPED_SCOPES, Action
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.setting import Setting, SettingChange, SettingList
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ranking import ranked
from opencode_tui.text.cells import breaks, clip, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.text.permission import short_source
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.base_app import BaseApp
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.keys.keyed import KeyAction, by_id, chooses, edits, keymap_of, leaves, moves, router_of
from opencode_tui.tui.keys.keymap import normal, shown
from opencode_tui.tui.pages.page import WIDE, ListRow, PageScreen, QueryHead
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

NAME, SOURCE = 36, 14
"""Most cells of the column with the name, and the least of that with the source, which a wide list has."""

VALUE = 40
"""Cells of a value that a source does not cover: a longer source gets what is left."""

SOURCE_FROM = 70
"""Cells of the list from which the source is shown."""

ON_SERVER = "Not changed: the settings are those of the server"

KEYS = ["keybinds"]
"""The path of the keys, which are recorded one by one."""

_GAPS = 10
"""Cells of a row that are in none of its columns: its edges and what is between the columns."""

_PREVIEW = "panel"
_SWITCH = {"true": "on", "false": "off"}
_HINTS = {"number": "A number", "text": "A text", "list": "Members, with commas between them; or a JSON list"}


def key_of(one: Setting) -> str:
    """Return the dotted key of a setting, as files and messages have it."""
    return ".".join(one.path)


def value_words(one: Setting, value: str | None) -> str:
    """Return a JSON value as it is shown and typed; not made safe. Empty for none."""
    if value is None:
        return ""
    if one.kind == "switch" and value in _SWITCH:
        return _SWITCH[value]
    found = json.loads(value)
    if isinstance(found, list) and all(isinstance(member, str) for member in cast("list[Any]", found)):
        members = cast("list[str]", found)
        return value if any("," in member or member != member.strip() for member in members) else ", ".join(members)
    return found if isinstance(found, str) else value


def typed_value(one: Setting, text: str) -> str:
    """Return a typed text as JSON. Raises ValueError for a number that is none, or a list that is not closed."""
    if one.kind == "list" and not text.lstrip().startswith("["):
        return json.dumps([member.strip() for member in text.split(",") if member.strip()], ensure_ascii=False)
    if one.kind in ("list", "number"):
        return json.dumps(json.loads(text), ensure_ascii=False)
    return text if text in one.choices else json.dumps(text, ensure_ascii=False)


def values_of(listed: SettingList) -> dict[str, Any]:
    """Return the values in effect under their keys, as the effective settings have them."""
    found: dict[str, Any] = {}
    for one in sorted(listed.settings, key=lambda one: len(one.path)):
        inner = found
        for name in one.path[:-1]:
            before = inner.get(name)
            inner[name] = inner = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
        if one.value is not None:
            inner[one.path[-1]] = json.loads(one.value)
    return found


def _opens_file(one: Setting) -> bool:
    return one.kind == "object" and one.path != KEYS


@dataclass(frozen=True, slots=True)
class RecordedKey:
    """An action that gets the next key: `key` is that of the settings once it was pressed, `begun` what is shown of it."""

    action: Action
    key: str = ""
    begun: str = ""
    is_after_leader: bool = False

    @property
    def is_for_text(self) -> bool:
        """Whether characters are text where the action is."""
        return self.action.scope.partition(":")[0] in {*TYPED_SCOPES, "prompt"}


def scopes_beside(scope: str) -> Sequence[str]:
    """Return the scopes whose actions a key can have at the same time as those of a scope."""
    if scope in MAIN_SCOPES:
        return ("prompt", "chat", "app")
    return tuple(dict.fromkeys((scope, scope.partition(":")[0])))


class SettingsScreen(PageScreen):
    """The page. `changed` gets the list after each change, `closed` the last one at the end; `named` are values by dotted key.

    A change is written at once, into the user's own file; a file of the project is shown, and opened in the editor.
    """

    scopes = ("list:settings", "list")

    def __init__(
        self,
        control: SessionController,
        listed: SettingList,
        places: Places,
        *,
        named: Mapping[str, Sequence[str]],
        changed: Callable[[SettingList], object],
        closed: Callable[[SettingList], object],
        typed: str = "",
    ) -> None:
        super().__init__()
        self.head = self.query_head = QueryHead()
        self.typed = typed
        self._control = control
        self._listed = listed
        self._places = places
        self._named = named
        self._changed = changed
        self._left = closed
        self._edited: Setting | None = None
        """The setting whose value is typed now."""
        self._draft = ""
        self._done: list[SettingChange] = []
        """What takes the changes back, oldest first."""
        self._meant = ""
        """The setting whose meaning was shown last."""
        self._longest_source = 0
        """Cells of the longest source of all settings, so that a filter does not move the column."""
        self._writing = asyncio.Lock()
        self._recorded: RecordedKey | None = None
        """The action whose new key is pressed now."""

    def fill(self) -> None:
        """Show all settings."""
        self.preview.show(self._preview_lines)
        self._show(is_new=True)

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected setting, or for the value that is typed."""
        if self._recorded is not None:
            return [chooses("save anyway", self._save_key)] if self._recorded.key else []
        if self._edited is not None:
            return [chooses("save", self._save_typed)]
        one = self._find()
        words = ("switch" if one.kind == "switch" else "open the file" if _opens_file(one) else "change") if one else ""
        return [
            *([chooses(words, self._change)] if one else []),
            *([KeyAction("settings_undo", "undo", self._undo)] if self._done else []),
            *([KeyAction("settings_reset", "reset", self._reset)] if one and one.value is not None else []),
            KeyAction("settings_edit", "open the file", lambda: self._start(self._open_file())),
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that edit the filter or the value, move in the list, or act on a row."""
        is_typing = self._edited is not None
        return {
            **({} if is_typing else {name: partial(self.move, rows) for name, rows in moves("list", 15).items()}),
            **by_id(*self.page_actions(), self._back()),
            **edits(self._text, self._put),
        }

    def show_keys(self) -> None:
        """Draw the row of keys again; a message stays until a key is pressed."""
        self.foot.show([*self.page_actions(), self._back()], keeps_message=True)

    def _back(self) -> KeyAction:
        is_typing = self._edited is not None or self._recorded is not None
        return leaves("cancel", self._stop_typing) if is_typing else leaves("back", self.close_page)

    def receive_key(self, event: events.Key) -> None:
        """Handle a key; the message about the last change ends, the meaning of the row takes its place."""
        if self._recorded is not None:
            self._record(self._recorded, event)
            return
        self._show_meaning()
        super().receive_key(event)

    def type_text(self, text: str) -> None:
        """Add text to the filter, or to the value."""
        self._put(self._text + clean(text).replace("\n", " "))

    def close_page(self) -> None:
        """Close the page."""
        self.dismiss(None)
        self._left(self._listed)

    def on_page_list_moved(self) -> None:
        """Show what the selected setting means, and its keys."""
        self.show_keys()
        if self.listing.chosen != self._meant:  # the message about a change stays
            self._show_meaning()
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """Change the clicked setting."""
        self._change()

    def on_resize(self, event: events.Resize) -> None:
        """Show the columns that fit."""
        super().on_resize(event)
        self.foot.styles.height = 4
        self.call_after_refresh(self._show)

    @property
    def _text(self) -> str:
        return self.typed if self._edited is None else self._draft

    def _put(self, text: str) -> None:
        if self._edited is None:
            is_same, self.typed = text == self.typed, text[:200]
            self._show(is_new=not is_same)
        else:
            self._draft = text[:10_000]
            self._show_head()

    def _found(self) -> list[Setting]:
        """Return the settings that match: by name first, then those whose meaning has each typed word."""
        settings = self._listed.settings
        found = [settings[at] for at, _ in ranked(self.typed, [key_of(one) for one in settings])]
        words = self.typed.casefold().split()
        known = {key_of(one) for one in found}
        about = (one for one in settings if key_of(one) not in known)
        return [*found, *(one for one in about if all(word in one.about.casefold() for word in words))]

    def _find(self) -> Setting | None:
        return next((one for one in self._listed.settings if key_of(one) == self.listing.chosen), None)

    def _show(self, *, is_new: bool = False) -> None:
        self._longest_source = max((cells(self._source(one)) for one in self._listed.settings), default=0)
        found = self._found()
        entries = [self._entry(one) for one in found]
        chosen = key_of(found[0]) if is_new and found else self.listing.chosen
        self.listing.show(entries or [self.sentence("No matches")], chosen=chosen, near=self.listing.selection.at)
        self._show_head()

    def _entry(self, one: Setting) -> ListRow:
        mark = self.listing.look.glyphs.ellipsis

        def left(area: str) -> Sequence[Piece]:
            name = self._name_cells()
            words = value_words(one, one.value) or value_words(one, one.default) or "not set"
            token = "muted" if one.value is None else "text"
            return [
                (f"  {pad(clip(screen_line(key_of(one)), name, mark), name)}  ", self.style("text", area)),
                (screen_line(words), self.style(token, area)),
            ]

        def right(area: str) -> Sequence[Piece]:
            width = self.listing.size.width
            if width < SOURCE_FROM:
                return []
            room = max(SOURCE, min(self._longest_source, width - self._name_cells() - VALUE - _GAPS))
            return [(f"  {pad(clip(self._source(one), room, mark), room)}", self.style("muted", area))]

        return ListRow(left, right, key_of(one))

    def _name_cells(self) -> int:
        return min(NAME, max(16, self.listing.size.width * 2 // 5))

    def _source(self, one: Setting) -> str:
        """Return where a value is from, safe for the screen."""
        named = value_words(one, one.value) or value_words(one, one.default)
        source = "you" if one.is_own else short_source(one.source, self._places) or ("default" if named else "")
        return screen_line(source)

    def _show_head(self) -> None:
        style, edited = self.style, self._edited
        if self._recorded is not None:
            title: list[Piece] = [(self._recorded.action.name, style("text", bold=True))]
            right, typed = "", self._recorded.begun
            hint = "Press the new key"
        elif edited is not None:
            title = [(screen_line(key_of(edited)), style("text", bold=True))]
            right = ""
            hint = " or ".join(filter(None, [_HINTS[edited.kind], ", ".join(map(_plain, edited.choices))]))
            typed = screen_line(self._draft)
        else:
            title = [("Settings", style("text", bold=True))]
            right = plural(len(self._listed.settings), "setting")
            if self.size.width >= SOURCE_FROM:
                right += f" · saved in {short_source(self._listed.user_file, self._places)}"
            hint, typed = "Type to find a setting by its name or meaning", self.typed
        words = self.listing.look.words(right)
        self.query_head.show_query(title, [(words, style("muted"))], typed=typed, hint=hint)
        self.show_keys()

    def _show_meaning(self) -> None:
        """Show what the row means above the keys where there is no preview."""
        self._meant = self.listing.chosen
        one = self._edited or self._find()
        is_wide = self.size.width >= WIDE
        about = "" if one is None or is_wide else " ".join(one.about.replace("`", "").split())
        self.foot.show_message(screen_line(about))

    def _preview_lines(self, room: int) -> list[Sequence[Piece] | Strip]:
        one = self._edited or self._find()
        if one is None:
            return []
        muted, text = self.style("muted", _PREVIEW), self.style("text", _PREVIEW)
        lines: list[Sequence[Piece] | Strip] = [[(screen_line(key_of(one)), self.style("text", _PREVIEW, bold=True))]]
        lines += [[(line, muted)] for line in _folded(one.about.replace("`", ""), room)]
        named = ", ".join(map(_plain, one.choices)) if one.kind != "switch" else ""
        kind = f"choice of {named}" if one.kind == "choice" else " or ".join(filter(None, [one.kind, named]))
        facts = [("type", kind), ("value", value_words(one, one.value) or "not set")]
        facts += [("default", value_words(one, one.default))] if one.default is not None else []
        facts += [("from", short_source(one.source, self._places))] if one.source else []
        facts += [("used", "from the next start of the program")] if one.at_start else []
        for name, words in facts:
            first, *rest = _folded(words, room - 9) or [""]
            lines += [
                [],
                [(pad(name, 9), muted), (first, text)],
                *([(pad("", 9), muted), (line, text)] for line in rest),
            ]
        return lines

    def _change(self) -> None:
        one = self._find()
        if one is None:
            return
        key = key_of(one)
        if not self._control.is_alone:
            self.foot.show_message(ON_SERVER, "warning")
        elif one.path == KEYS:
            self._choose_action()
        elif one.kind == "object":
            self._start(self._open_file())
        elif one.kind == "switch":
            present = one.default if one.value is None else one.value
            self._write(one, "false" if present == "true" else "true")
        elif one.kind == "choice" or self._named.get(key):
            self._choose(one, one.choices if one.kind == "choice" else [json.dumps(name) for name in self._named[key]])
        else:
            is_hidden = one.value is not None and "[hidden]" in one.value
            self._edited, self._draft = one, "" if is_hidden else value_words(one, one.value)
            self._show_head()
            self._show_meaning()

    def _choose_action(self) -> None:
        """Let an action be chosen, whose new key is pressed then."""
        keymap = keymap_of(self)
        choices = [
            Choice(row.id, row.name, key=", ".join(keymap.keys(row.id)[:2]), group=row.group, aliases=row.id.split("_"))
            for row in ACTIONS
        ]

        def done(chosen: str | None) -> None:
            for widget in self.query("*"):
                widget.refresh()
            if chosen is not None:
                self._recorded = RecordedKey(BY_ID[chosen])
                self.foot.show_message("")
                self._show_head()

        content = ListContent(choices, hint="Which action gets another key?", enter="press its key")
        cast("BaseApp", self.app).open_overlay(content, done)

    def _record(self, recorded: "RecordedKey", event: events.Key) -> None:
        """Use a pressed key for the action; one that another action has is named, and saved when enter says so."""
        keymap = keymap_of(self)
        found = router_of(self).find(event.key, self)
        answer = found.id if found is not None else ""
        if answer in by_id(*self.page_actions()):
            self._save_key()
            return
        recorded = (
            RecordedKey(recorded.action) if recorded.key else recorded
        )  # another one instead of that which is in use
        if answer == self._back().id:
            self._stop_typing()
        elif not recorded.is_after_leader and normal(event.key) == keymap.leader:
            self._recorded = replace(recorded, is_after_leader=True, begun=f"{keymap.leader} ")
            self._show_head()
        elif event.is_printable and not recorded.is_after_leader and recorded.is_for_text:
            self.foot.show_message(
                "Not a character: it would be text where this action is; press another key", "warning"
            )
        else:
            after = recorded.is_after_leader
            key = f"{LEADER if after else ''}{normal(event.key)}"
            self._recorded = replace(recorded, key=key, begun=shown(key, keymap.leader))
            others = keymap.actions(event.key, scopes_beside(recorded.action.scope), after_leader=after)
            names = ", ".join(dict.fromkeys(one.name for one in others if one != recorded.action))
            if names:
                self._show_head()
                self.foot.show_message(f"{self._recorded.begun} is already: {names}", "warning")
            else:
                self._save_key()

    def _save_key(self) -> None:
        recorded, self._recorded = self._recorded, None
        if recorded is not None:
            change = SettingChange(path=[*KEYS, recorded.action.id], value=json.dumps(recorded.key))
            self._start(self._apply(change, f"{recorded.action.name}: {recorded.begun}, saved in"))
            self._show_head()

    def _choose(self, one: Setting, values: Sequence[str]) -> None:
        present = one.value if one.value is not None else one.default
        choices = [Choice(value, screen_line(_plain(value)), is_current=value == present) for value in values]

        def done(chosen: str | None) -> None:
            for widget in self.query("*"):
                widget.refresh()
            if chosen is not None:
                self._write(one, chosen)

        cast("BaseApp", self.app).open_overlay(ListContent(choices, hint=screen_line(key_of(one)), enter="save"), done)

    def _stop_typing(self) -> None:
        self._edited, self._recorded, self._draft = None, None, ""
        self.foot.show_message("")
        self._show_head()
        self.preview.redraw()

    def _save_typed(self) -> None:
        one = self._edited
        if one is None:
            return
        try:
            value = typed_value(one, self._draft.strip())
        except ValueError:
            expected = 'a list such as ["a", "b"]' if one.kind == "list" else "a number"
            self.foot.show_message(f"Not saved: expected {' or '.join([expected, *map(_plain, one.choices)])}", "error")
            return
        self._write(one, value)

    def _write(self, one: Setting, value: str) -> None:
        self._start(self._apply(SettingChange(path=one.path, value=value), "Saved in"))

    def _reset(self) -> None:
        """Remove the value from the file that it is from."""
        one = self._find()
        if one is None or one.value is None:
            return
        if not self._control.is_alone:
            self.foot.show_message(ON_SERVER, "warning")
        elif not one.is_own:
            source = short_source(one.source, self._places) or "several sources"
            self.foot.show_message(screen_line(f"Not changed: the value is from {source}"), "warning")
        else:
            self._start(self._apply(SettingChange(path=one.path), "Removed from"))

    def _undo(self) -> None:
        if self._done:
            self._start(self._apply(self._done.pop(), "Changed back in", is_undo=True))

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        self.run_worker(run, group="settings", exit_on_error=False)

    async def _apply(self, change: SettingChange, words: str, *, is_undo: bool = False) -> None:
        """Write a change, read all values again, and report the file, or why nothing was written."""
        async with self._writing:
            try:
                done = await self._control.client.settings.change_one(change)
            except OpencodeError as error:
                self.foot.show_message(screen_line(f"Not saved: {' '.join(str(error).split())}"), "error")
                return
            if not is_undo:
                self._done.append(SettingChange(path=change.path, value=done.before))
            self._edited, self._draft = None, ""
            await self._read()
        one = next((one for one in self._listed.settings if one.path == change.path), None)
        message = f"{words} {short_source(done.file, self._places)}"
        overrides = f"{short_source(done.overridden_by, self._places)} overrides it" if done.overridden_by else ""
        if problem := done.problem or overrides:
            self._report(f"{message}, but {problem}", is_warning=True)
        else:
            start = ", used from the next start" if one is not None and one.at_start else ""
            self._report(f"{message}{start}", is_warning=False)

    def _report(self, words: str, *, is_warning: bool) -> None:
        self.foot.show_message(screen_line(words), "warning" if is_warning else "success")

    async def _read(self) -> None:
        """Read all values again, and apply those of the screen."""
        try:
            self._listed = await self._control.client.settings.all()
        except OpencodeError as error:
            self._report(" ".join(str(error).split()), is_warning=True)
            return
        self._changed(self._listed)
        self._show()
        self.preview.redraw()

    async def _open_file(self) -> None:
        """Open the file of the value in the user's editor, without one the user's own, and read it again."""
        one = self._find()
        path = Path(one.source if one is not None and one.source.startswith("/") else self._listed.user_file)
        try:
            if not await asyncio.to_thread(path.is_file):
                words = f"{short_source(str(path), self._places)} does not exist yet, or is on another machine"
                self.foot.show_message(screen_line(words), "warning")
            else:
                if await open_file(self, path, 0):
                    for widget in self.query("*"):
                        widget.refresh()
                await self._read()
        except OpencodeError as error:
            self._report(" ".join(str(error).split()), is_warning=True)


def _plain(value: str) -> str:
    """Return a JSON value without the quotes of a text."""
    found = json.loads(value)
    return found if isinstance(found, str) else value


def _folded(text: str, room: int) -> list[str]:
    line = screen_line(" ".join(text.split()))
    return [line[start:end] for start, end in breaks(line, max(8, room))[:12]]
