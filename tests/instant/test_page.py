"""The file of a page: valid only as it was written, for the same start."""

import os
from pathlib import Path

import pytest

from opencode_tui.instant.page import Page, Run, format_page, page_path, plain_page, read_page

SIZE = (40, 6)
PEN = ("1", "38;2;1;2;3", "48;5;9")


def page_of(text: str = "Ask") -> Page:
    rows = [[Run(0, PEN, text), Run(20, ("", "", ""), "字 é")], *([] for _ in range(5))]
    return Page(SIZE, rows, prompt=(3, 2, 30), pens=(PEN, ("7", "", "")), is_echoing=True, is_dark=False, erases=True)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment with a cache folder of its own."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TERM": "xterm"}


def stored(environ: dict[str, str], content: str | bytes, mode: int = 0o600) -> Path:
    path = Path(page_path(environ, "/work", SIZE))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def test_a_page_is_read_as_it_was_written(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    sources = [str(tmp_path / "settings"), str(tmp_path / "missing")]
    stored(environ, format_page(page_of(), environ, "/work", sources))
    found = read_page(environ, "/work", SIZE)
    assert found is not None
    assert found.draw() == page_of().draw() == "\x1b[1;1H\x1b[0;1;38;2;1;2;3;48;5;9mAsk\x1b[1;21H\x1b[0m字 é"
    assert (found.prompt, found.pens, found.is_echoing, found.is_dark, found.erases) == (
        (3, 2, 30),
        (PEN, ("7", "", "")),
        True,
        False,
        True,
    )


def test_a_page_is_for_one_folder_size_and_terminal_until_a_file_of_the_settings_changes(
    environ: dict[str, str], tmp_path: Path
) -> None:
    settings = tmp_path / "opencode.json"
    stored(environ, format_page(page_of(), environ, "/work", [str(settings)]))
    assert read_page(environ, "/work", SIZE) is not None
    assert read_page(environ, "/other", SIZE) is None and read_page(environ, "/work", (40, 7)) is None
    assert read_page({**environ, "TERM": "linux"}, "/work", SIZE) is None
    assert read_page({**environ, "NO_COLOR": "1"}, "/work", SIZE) is None
    settings.write_text("{}")
    assert read_page(environ, "/work", SIZE) is None


@pytest.mark.slow
def test_every_damaged_file_is_the_same_as_none(environ: dict[str, str]) -> None:
    whole = format_page(page_of(), environ, "/work", []).encode()
    for at in range(0, len(whole), 3):
        stored(environ, whole[:at])
        assert read_page(environ, "/work", SIZE) is None, at
        for byte in b"\x1b\n\x1f:9":
            stored(environ, whole[:at] + bytes([byte]) + whole[at + 1 :])
            found = read_page(environ, "/work", SIZE)
            assert found is None or "\x1b" not in found.draw().replace("\x1b[", ""), (at, byte)


def test_a_file_that_others_can_read_or_that_is_a_link_is_not_used(environ: dict[str, str], tmp_path: Path) -> None:
    path = stored(environ, format_page(page_of(), environ, "/work", []), mode=0o644)
    assert read_page(environ, "/work", SIZE) is None
    path.chmod(0o600)
    assert read_page(environ, "/work", SIZE) is not None
    path.rename(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    assert read_page(environ, "/work", SIZE) is None


@pytest.mark.parametrize("size", [(20, 5), (79, 25), (80, 26), (119, 40), (120, 40), (300, 100)])
def test_the_plain_form_fits_any_screen(size: tuple[int, int]) -> None:
    page = plain_page(size)
    x, y, width = page.prompt
    assert x + width <= size[0] and y < size[1] and len(page.hint_cells()) == width
    assert "".join(text for text, _ in page.hint_cells()).startswith(" Ask")
