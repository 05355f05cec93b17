"""Tables of the program that are texts: files next to the module that reads them, one row a line.

A line that begins with `#` is a comment. Columns are separated by `|`. A line `[TITLE] words` begins a section, and the lines
after it are its rows.
"""

from pathlib import Path

from msgspec import Struct, field


class Section(Struct, frozen=True):
    """The rows below one title, and the words behind the title."""

    title: str
    words: str
    rows: list[str] = field(default_factory=list[str])


def read_rows(file: Path) -> list[str]:
    """Return the lines of a table without comments. Blocks."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_sections(file: Path) -> list[Section]:
    """Return the sections of a table in their order; titles may repeat. Blocks. Raises ValueError for a row before a title."""
    found: list[Section] = []
    for row in read_rows(file):
        title, bracket, words = row.partition("]")
        if row.startswith("[") and bracket:
            found.append(Section(title[1:], words.strip()))
        elif found:
            found[-1].rows.append(row)
        else:
            raise ValueError(f"{file.name}: no section before {row!r}")
    return found


def split_columns(row: str, count: int) -> list[str]:
    """Return the columns of a row; the last may contain `|`. Raises ValueError for fewer."""
    columns = [column.strip() for column in row.split("|", count - 1)]
    if len(columns) != count:
        raise ValueError(f"{len(columns)} columns in place of {count}: {row!r}")
    return columns
