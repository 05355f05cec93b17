"""Makes the documentation's picture: a real turn of the demo in a terminal of 100 columns, as an SVG in the dark palette.

python -m tests.support.terminal.picture assets/run.svg
"""

import argparse
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.conftest import isolated_environment
from tests.support.terminal.command import Terminal
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.repo import make_repo

COLUMNS = 100
PROMPT = "create hello.py that prints hello, then run it"

_BACKGROUND, _TEXT, _ACCENT, _SUCCESS, _WARNING, _ERROR = (
    (0x15, 0x16, 0x1B),
    (0xDC, 0xDF, 0xE6),
    (0xAD, 0xA0, 0xF7),
    (0x86, 0xCF, 0x9C),
    (0xE8, 0xBB, 0x6C),
    (0xF4, 0x87, 0x87),
)
"""Source: docs/internals/screen.md#colors."""

PALETTE = TerminalTheme(
    _BACKGROUND,
    _TEXT,
    [_BACKGROUND, _ERROR, _SUCCESS, _WARNING, _ACCENT, _ACCENT, _TEXT, _TEXT],
    [_TEXT, _ERROR, _SUCCESS, _WARNING, _ACCENT, _ACCENT, _TEXT, _TEXT],
)

_DRAWING = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "JetBrains Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
{styles}
</style>
<defs>
{lines}
</defs>
<rect fill="#15161b" width="{width}" height="{height}" rx="8"/>
<g transform="translate(20, 30)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""

_REDRAWN = re.compile(r"\r\x1b\[2K[^\r\n]*(?=\r\x1b\[2K)")
_ERASED = re.compile(r"^.*\r\x1b\[2K", re.MULTILINE)


def record_turn(folder: Path) -> str:
    """Return everything that a turn wrote to the terminal."""
    repo = make_repo(folder / "project")
    repo.write("README.md", "# Project\n")
    repo.commit("begin")
    (folder / "home").mkdir()
    environ = {**isolated_environment(folder / "home"), "TERM": "xterm-256color", "PYTHONPATH": str(PACKAGE_ROOT)}
    with Terminal(["-m", "opencode_tui", "run", PROMPT], folder=repo.path, environ=environ) as terminal:
        assert terminal.wait() == 0, terminal.text
        return terminal.text


def final_text(text: str) -> str:
    """Return what the screen shows at the end: of a line that was redrawn only its last form."""
    text = text.replace("\r\n", "\n")
    return _ERASED.sub("", _REDRAWN.sub("", text)).rstrip()


def draw(text: str) -> str:
    """Return the screen as an SVG, below the command that was typed."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(Text.from_ansi(f'\x1b[95m$\x1b[0m opencode-tui run "{PROMPT}"'))
        console.print(Text.from_ansi(final_text(text)))
    drawing = console.export_svg(theme=PALETTE, code_format=_DRAWING, unique_id="run")
    return "\n".join(line.rstrip() for line in drawing.splitlines()) + "\n"


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description="Draw a turn of the demo as an SVG.")
    parser.add_argument("target", type=Path)
    target: Path = parser.parse_args().target
    with tempfile.TemporaryDirectory() as folder:
        target.write_text(draw(record_turn(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
