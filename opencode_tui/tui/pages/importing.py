"""The import page: the stores of other programs, what would be imported from them, the running import, and its result."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from opencode_tui.schema.api.importing import ImportReport, ImportRequest, ImportStore
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, clip_front, pad
from opencode_tui.text.quantity import plural, short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction, opens
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

LABEL = 16
"""Cells of the column with the program."""

COUNTS = 30
"""Cells of the columns with the numbers, the mark and the edges."""

POLL_S = 0.2
_SHOWN_PROBLEMS = 50

_Mode = Literal["looking", "stores", "preview", "running", "done"]


class ImportScreen(PageScreen):
    """The page; each store is chosen that has sessions which are not here. `open_session` shows an imported session."""

    has_preview = False
    scopes = ("page:import", "page")

    def __init__(self, control: SessionController, open_session: Callable[[str], object]) -> None:
        super().__init__()
        self._open_session = open_session
        self._client = control.client
        self._control = control
        self._home = str(Path.home())
        self._mode: _Mode = "looking"
        self._stores: Sequence[ImportStore] = ()
        self._chosen: set[str] = set()
        self._report: ImportReport | None = None
        self._error = ""
        self._progress = (0, 0, "")

    def fill(self) -> None:
        """Look for stores, and follow a running import."""
        self.set_interval(POLL_S, self._follow)
        self._draw()
        self.run_worker(self._look, group="look", exit_on_error=False)

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions of the state that the page is in."""
        match self._mode:
            case "stores" if self._stores:
                actions = [KeyAction("import_choose", "choose", self._toggle)]
                if self._chosen:
                    actions.append(opens("import", self._import))
                    actions.append(KeyAction("import_preview", "show what would be imported", self._preview))
                return actions
            case "preview":
                return [opens("import", self._import)]
            case "done":
                return [opens("open", self._open)] if self._openable() else []
            case _:
                return []

    def on_page_list_opened(self) -> None:
        """Choose the clicked store, or open the clicked session."""
        for one in self.page_actions()[:1]:
            one.act()

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        super().show_keys()
        if self._error:
            self.foot.show_message(screen_line(self._error), "error")

    def close_words(self) -> str:
        """Return what closing the page does in its state."""
        return "stop" if self._mode == "running" else "back"

    def close_page(self) -> None:
        """Go back, stop the import, or close the page."""
        if self._mode == "preview":
            self._show("stores")
        elif self._mode == "running":
            self.run_worker(self._client.imports.cancel(), group="cancel", exit_on_error=False)
        else:
            self.dismiss(None)

    def _openable(self) -> str:
        """Return the id of the selected session if it belongs to this project, else an empty text."""
        chosen = self.listing.chosen
        found = self._report.sessions[int(chosen)].id if self._report is not None and chosen else ""
        return found if found in self._control.folder.sessions else ""

    def _open(self) -> None:
        session_id = self._openable()
        self.dismiss(None)
        self._open_session(session_id)

    def _show(self, mode: _Mode) -> None:
        self._mode = mode
        self._draw()

    async def _look(self) -> None:
        try:
            self._stores = await self._client.imports.stores()
        except OpencodeError as error:
            self._error = str(error)
        self._chosen = {store.path for store in self._stores if store.new or store.newer}
        self._show("stores")

    def _toggle(self) -> None:
        store = self.listing.chosen
        if store:
            self._chosen ^= {store}
            self._draw()

    def _preview(self) -> None:
        self._start(dry_run=True)

    def _import(self) -> None:
        self._start(dry_run=False)

    def _start(self, *, dry_run: bool) -> None:
        self._error = ""
        self._progress = (0, 0, "")
        self._show("running")
        request = ImportRequest(stores=sorted(self._chosen), dry_run=dry_run)
        self.run_worker(partial(self._run, request), exclusive=True, group="import", exit_on_error=False)

    async def _run(self, request: ImportRequest) -> None:
        try:
            self._report = await self._client.imports.run(request)
        except OpencodeError as error:
            self._error = str(error)
            self._show("stores")
            return
        if not request.dry_run:
            await self._control.reload()
        self._show("preview" if request.dry_run else "done")

    def _follow(self) -> None:
        if self._mode == "running":
            self.run_worker(self._read_progress, exclusive=True, group="progress", exit_on_error=False)

    async def _read_progress(self) -> None:
        progress = await self._client.imports.progress()
        if progress is not None and self._mode == "running":
            self._progress = (progress.done, progress.total, progress.title)
            self._draw()

    def _draw(self) -> None:
        title: list[Piece] = [("Import sessions", self.style("text", bold=True))]
        self.head.show([(title, [(self._summary(), self.style("muted"))])])
        match self._mode:
            case "looking":
                entries = [self.sentence("Looking for sessions of OpenCode, Claude Code and Codex…")]
            case "stores":
                entries = [self._store(one) for one in self._stores] or self._nothing()
            case "running":
                entries = self._run_rows()
            case "preview" | "done":
                entries = self._result()
        self.listing.show(entries)
        self.show_keys()

    def _summary(self) -> str:
        if self._mode == "stores" and self._stores:
            count = sum(one.new + one.newer for one in self._stores if one.path in self._chosen)
            return f"{plural(count, 'session')} to import" if count else "nothing new"
        return ""

    def _nothing(self) -> list[ListRow]:
        return [
            self.sentence("No sessions of OpenCode, Claude Code or Codex were found in their usual folders."),
            self.sentence(""),
            self.sentence("From another folder: opencode-tui import opencode FOLDER"),
        ]

    def _store(self, store: ImportStore) -> ListRow:
        glyphs = self.listing.look.glyphs
        is_chosen = store.path in self._chosen
        room = max(12, self.listing.size.width - LABEL - COUNTS)

        def left(area: str) -> Sequence[Piece]:
            mark = (f"{glyphs.done if is_chosen else ' '} ", self.style("success", area))
            name = pad(clip(screen_line(store.label), LABEL - 2, glyphs.ellipsis), LABEL)
            path = clip_front(screen_line(short_path(store.path, self._home)), room, glyphs.ellipsis)
            return [mark, (name, self.style("text", area, bold=area == "selection")), (path, self.style("muted", area))]

        def right(area: str) -> Sequence[Piece]:
            if store.problems and not store.sessions:
                return [("cannot be read", self.style("error", area))]
            fresh = store.new + store.newer
            counts = f"{plural(store.sessions, 'session'):>14}"
            new = pad(f"{fresh} new" if fresh else "all here", 10, is_right=True)
            return [(counts, self.style("text", area)), (new, self.style("muted", area))]

        return ListRow(left, right, store.path)

    def _run_rows(self) -> list[ListRow]:
        done, total, title = self._progress
        if not total:
            return [self.sentence("Reading the list of sessions…")]
        room = max(10, min(50, self.size.width - 30))
        full, empty = self.listing.look.words("━"), self.listing.look.words("─")
        filled = round(room * done / total)

        def bar(area: str) -> Sequence[Piece]:
            return [
                ("  ", self.style("text", area)),
                (full * filled, self.style("accent", area)),
                (empty * (room - filled), self.style("border", area)),
                (f"  {done} of {total}", self.style("text", area)),
            ]

        return [ListRow(bar), self.sentence(""), self.sentence(screen_line(title))]

    def _result(self) -> list[ListRow]:
        report = self._report
        assert report is not None
        is_preview = self._mode == "preview"
        head = f"{'Would import' if is_preview else 'Imported'} {plural(report.new, 'session')}"
        extra = [f"{report.newer} continued"] if report.newer else []
        extra += [f"{report.same} already here"] if report.same else []
        extra += [f"{report.skipped} skipped"] if report.skipped else []
        lines = [self.sentence(" · ".join([head, *extra]), "text"), self.sentence("")]
        if report.is_cancelled:
            lines.insert(1, self.sentence("Stopped. What was imported stays; import again for the rest."))
        lines += [self._session(number) for number in range(len(report.sessions))]
        if report.left_out:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(report.left_out.items()))
            lines += [
                self.sentence(""),
                self.sentence(f"Only messages are imported. Left out, with the number of sessions: {kinds}"),
            ]
        if report.problems:
            lines += [
                self.sentence(""),
                self.sentence(f"Left out ({len(report.problems) + report.omitted_problems})", "warning"),
            ]
            lines += [self.sentence(f"  {screen_line(one)}") for one in report.problems[:_SHOWN_PROBLEMS]]
        return lines

    def _session(self, number: int) -> ListRow:
        assert self._report is not None
        one = self._report.sessions[number]

        def left(area: str) -> Sequence[Piece]:
            title = screen_line(one.title) or "untitled"
            words = screen_line(one.reason or short_path(one.directory, self._home))
            return [(f"  {title}  ", self.style("text", area)), (words, self.style("muted", area))]

        def right(area: str) -> Sequence[Piece]:
            count = plural(one.messages, "message") if one.state != "skipped" else "skipped"
            return [(count, self.style("muted", area))]

        return ListRow(left, right, f"{number}")
