"""Makes the documentation's pictures of the screen: the real app on the scripted sessions of the tests.

python -m tests.support.terminal.screenshots assets
"""

import argparse
import asyncio
import os
from pathlib import Path

from opencode_tui.tui.app import OpenCodeApp
from tests.support.terminal.screen import screen_lines
from tests.support.terminal.screen_svg import draw
from tests.tui.screens.test_looks import SITUATIONS, opened_app

PICTURES = {
    "chat": "working-with-the-sidebar",
    "undo": "undo-with-its-preview",
    "context": "context",
    "sessions": "sessions-as-a-tree",
}
"""Names of the files, and the situations that they show."""


async def take(situation: str) -> str:
    """Return the screen of a situation as an SVG."""
    wanted = SITUATIONS[situation]
    app, act = opened_app(wanted)
    async with app.run_test(size=wanted.size) as pilot:
        await act(pilot)
        return _drawn(app)


def _drawn(app: OpenCodeApp) -> str:
    palette = app.look.palette
    return draw(screen_lines(app), columns=app.screen.size.width, text=palette.text, back_color=palette.background)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description="Draw the screen in the situations that the documentation shows.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    os.environ["HOME"] = "/home/you"
    for name, situation in PICTURES.items():
        (folder / f"{name}.svg").write_text(asyncio.run(take(situation)), encoding="utf-8")


if __name__ == "__main__":
    main()
