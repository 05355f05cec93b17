"""The page of the first frame, as cells: what a start page writes for the next start, and what the terminal shows of it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.instant.page import Page, Run, format_page, page_folder, page_path
from opencode_tui.instant.screen import InstantScreen
from opencode_tui.tui.output.painter import Pen, Row, blank_row, spread

if TYPE_CHECKING:
    from opencode_tui.schema.api.project import Places

_MAX_PAGES = 32
"""Pages that are kept, of all folders and sizes; the oldest are deleted."""

_SETTINGS = ("opencode.jsonc", "opencode.json", ".opencode")


def shown_rows(screen: InstantScreen) -> Sequence[Row]:
    """Return the cells that the terminal shows after the first screen."""
    page = screen.page
    columns, _ = page.size
    rows = [_row(runs, columns) for runs in page.rows]
    x, y, _ = page.prompt
    row = rows[y]
    cells = screen.prompt_cells
    row.text[x : x + len(cells)] = [text for text, _ in cells]
    row.pens[x : x + len(cells)] = [Pen(*pen) for _, pen in cells]
    return rows


def runs_of(row: Row) -> list[Run]:
    """Return the cells of a row as runs of one style."""
    runs: list[Run] = []
    for at, (text, pen) in enumerate(zip(row.text, row.pens, strict=True)):
        pen = pen[:3]  # the page has no hyperlinks
        if runs and runs[-1].pen == pen and (at == 0 or row.text[at - 1].isascii()):
            runs[-1].text += text
        elif text:  # the second cell of a wide character has none
            runs.append(Run(at, pen, text))
    return runs


def settings_files(places: "Places", theme: str) -> list[str]:
    """Return the files and folders whose change may change the start page; some do not exist."""
    here, worktree = Path(places.directory), Path(places.worktree)
    folders = [folder for folder in (here, *here.parents) if folder.is_relative_to(worktree)] or [here]
    inside = [Path(places.config), *(folder / ".opencode" for folder in (Path(places.home), *folders))]
    files = [folder / name for folder in (*inside, *folders) for name in _SETTINGS]
    return [str(path) for path in (*files, *(folder / "themes" / f"{theme}.json" for folder in inside))]


def write_page(page: Page, places: "Places", theme: str) -> None:
    """Write the page for the next start here, if it is another one, and delete the oldest pages. Blocks.

    An error loses only the page.
    """
    with suppress(OSError):
        folder, path = Path(page_folder(os.environ)), Path(page_path(os.environ, places.directory, page.size))
        content = format_page(page, os.environ, places.directory, settings_files(places, theme)).encode()
        if path.is_file() and path.read_bytes() == content:
            return
        for one in reversed((folder, *folder.parents)):
            one.mkdir(exist_ok=True, mode=0o700)
        fresh = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
        fresh.replace(path)
        pages = sorted(folder.iterdir(), key=lambda one: one.lstat().st_mtime_ns)
        for old in pages[:-_MAX_PAGES]:
            old.unlink(missing_ok=True)


def _row(runs: Sequence[Run], columns: int) -> Row:
    row = blank_row(columns)
    for run in runs:
        cells: list[str] = []
        spread(cells, run.text)
        end = min(columns, run.column + len(cells))
        row.text[run.column : end] = cells[: end - run.column]
        row.pens[run.column : end] = [Pen(*run.pen)] * (end - run.column)
    return row
