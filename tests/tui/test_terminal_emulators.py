"""A picture that the model reads is seen in xterm (sixel) and in kitty, by the pixels of a screenshot of a virtual display."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.terminal.pictures import png
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


pytest.importorskip("PIL", reason="Pillow is not installed")

COLUMNS, ROWS = 100, 30
SIZE = (300, 200)
"""The pixels of the picture."""

RED, BLUE = b"\xff\x00\x00", b"\x00\x00\xff"
STRIPE = 5
"""Pixels of a stripe of the picture: half blocks, a cell wide, would mix both colors."""

TERMINALS = {
    "xterm": [
        *("xterm", "-ti", "vt340", "-tn", "xterm-256color", "-b", "0", "-bw", "0", "+sb", "-fn", "10x20"),
        *("-xrm", "XTerm*numColorRegisters: 256", "-geometry", f"{COLUMNS}x{ROWS}+0+0", "-e"),
    ],
    "kitty": [
        *("kitty", "--config", "NONE", "-o", f"initial_window_width={COLUMNS}c"),
        *("-o", f"initial_window_height={ROWS}c", "-o", "remember_window_size=no", "-o", "window_padding_width=0"),
        *("-o", "placement_strategy=top-left", "-o", "update_check_interval=0"),
    ],
}
"""The commands that start the terminals, before the one that runs in them."""

MEASURE = """
import fcntl, os, struct, sys, termios
size = struct.unpack("4H", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\\0" * 8))
with open(sys.argv[1] + ".part", "w") as file:
    file.write(" ".join(map(str, size)))
os.rename(sys.argv[1] + ".part", sys.argv[1])
os.execv(sys.executable, [sys.executable, "-m", "opencode_tui", "--prompt", "look"])
"""
"""What runs in the terminal: it writes down the size of the window, then becomes the program."""


class Window(NamedTuple):
    """The size of a terminal in cells and pixels."""

    rows: int
    columns: int
    width: int
    height: int


def needed(*programs: str) -> None:
    """Skip the test where a program is missing."""
    missing = [one for one in programs if shutil.which(one) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed (Debian: xvfb, xterm, kitty, imagemagick)")


@contextmanager
def started(
    command: Sequence[str], environ: dict[str, str], folder: Path, *, stdout: int | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program in the background, and end it."""
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log if stdout is None else stdout,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S / 10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def display(environ: dict[str, str], folder: Path) -> Generator[str]:
    """Start a virtual display; yield its name."""
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1400x900x24", "-nolisten", "tcp", "+extension", "GLX"]
    with started(command, environ, folder, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield f":{server.stdout.readline().decode().strip()}"


def striped_cells(shot: Path, window: Window) -> set[tuple[int, int]]:
    """Return the (column, row) of each cell that consists of red and blue pixels."""
    from PIL import Image

    with Image.open(shot) as opened:
        image = opened.convert("RGB").crop((0, 0, window.width, window.height))
    wide, high = window.width // window.columns, window.height // window.rows
    found: set[tuple[int, int]] = set()
    for row in range(window.rows):
        for column in range(window.columns):
            box = image.crop((column * wide, row * high, (column + 1) * wide, (row + 1) * high))
            red = blue = 0
            for count, color in box.getcolors(wide * high) or []:
                assert isinstance(color, tuple)
                red += count if color[0] > 200 and max(color[1:]) < 60 else 0
                blue += count if color[2] > 200 and max(color[:2]) < 60 else 0
            if min(red, blue) > wide * high // 4:
                found.add((column, row))
    return found


@pytest.mark.parametrize("name", sorted(TERMINALS))
def test_the_cells_of_a_picture_have_its_colors(name: str, tmp_path: Path, environ: dict[str, str]) -> None:
    needed("Xvfb", name, "import")
    folder, size, shot = tmp_path / "plots", tmp_path / "size", tmp_path / "shot.png"
    folder.mkdir()
    stripes = RED * STRIPE + BLUE * STRIPE
    (folder / "pic.png").write_bytes(png(SIZE[0] // (2 * STRIPE), SIZE[1], pixel=stripes, said=SIZE))
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer())
        server.script(Answer(calls=(Call("read", '{"filePath": "pic.png"}'),)), Answer(text="Red and blue."))
        settings = {"provider": provider_config(server.base_url), "model": "fake/fake-model"}
        runtime = tmp_path / "runtime"
        runtime.mkdir(mode=0o700)
        inside = {
            **environ,
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "PYTHONPATH": str(PACKAGE_ROOT),
            "LANG": "C.UTF-8",
            "COLORTERM": "truecolor",
            "OPENCODE_TUI_STILL": "1",
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "XDG_RUNTIME_DIR": str(runtime),
            "PATH": os.environ["PATH"],
        }
        inside["DISPLAY"] = stack.enter_context(display(inside, tmp_path))
        command = [*TERMINALS[name], sys.executable, "-c", MEASURE, str(size)]
        stack.enter_context(started(command, inside, folder))
        wait_until(size.exists)
        window = Window(*map(int, size.read_text("utf-8").split()))
        assert (window.columns, window.rows) == (COLUMNS, ROWS) and window.width and window.height, window
        wide, high = window.width // window.columns, window.height // window.rows
        columns, rows = SIZE[0] // wide, SIZE[1] // high

        def seen() -> bool:
            subprocess.run(["import", "-window", "root", str(shot)], env=inside, check=True, timeout=PATIENCE_S)
            return len(striped_cells(shot, window)) >= (columns - 1) * (rows - 1)

        wait_until(seen)
        found = striped_cells(shot, window)
    first, top = min(column for column, _ in found), min(row for _, row in found)
    last, bottom = max(column for column, _ in found), max(row for _, row in found)
    assert found == {(column, row) for column in range(first, last + 1) for row in range(top, bottom + 1)}
    assert abs(last - first + 1 - columns) <= 1 and abs(bottom - top + 1 - rows) <= 1, (found, columns, rows)
    assert first >= 3 and top >= 2, "below the row of the call, in the column of its text"
