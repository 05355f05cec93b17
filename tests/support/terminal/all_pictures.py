"""Draws every page, panel and list of the tests at each width and in each look, to be looked at; nothing of it is kept.

python -m tests.support.terminal.all_pictures FOLDER [--widths 60 80] [--looks dark light none] [--only WORD] [--font FILE.ttf]

Each picture is an SVG. With a monospace font (and Pillow) it is a PNG too. What a look at the text alone shows is printed: a part
that could not be drawn, and a screen without a way to help or back.
"""

import argparse
import asyncio
import importlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len
from textual.strip import Strip

from tests.support.terminal.screen import look, screen_lines
from tests.support.terminal.screen_svg import draw
from tests.tui.screens.test_looks import Situation, opened_app

FILES = (
    "tests.tui.screens.test_looks",
    "tests.tui.screens.test_page_looks",
    "tests.tui.screens.test_panel_looks",
    "tests.tui.screens.test_language_looks",
    "tests.tui.screens.test_looks_shown",
    "tests.tui.screens.test_comfort_looks",
    "tests.tui.screens.test_counterparts",
)
WIDTHS = (60, 80, 100, 140, 200)
LOOKS = {"dark": look(), "light": look(dark=False), "none": look(depth="none")}
MOST_LOOKS = 20
"""Most looks at a screen until it is the same twice: a running turn never is."""
_VARIANT = re.compile(r"-(?:light|dark|in-\d+-.*|in-a-.*window.*|without-colors.*|in-256-colors)$")
_WAYS = re.compile(r"f1|\? |esc|ctrl\+p|help|enter")


def situations() -> Iterator[tuple[str, Situation]]:
    """Yield each situation once, under its name without a width and a look."""
    seen: set[str] = set()
    for file in FILES:
        for name, situation in importlib.import_module(file).SITUATIONS.items():
            base = name
            while (cut := _VARIANT.sub("", base)) != base:
                base = cut
            if base not in seen:
                seen.add(base)
                yield base, situation


async def take(situation: Situation) -> tuple[list[Strip], str, str]:
    """Return the rows of a situation, and the colors of text and background without their own."""
    app, act = opened_app(situation)
    async with app.run_test(size=situation.size) as pilot:
        await act(pilot)
        shown, before = screen_lines(app), None
        for _ in range(MOST_LOOKS):  # the start page comes later, on a loaded machine after the first picture
            if shown == before and app._can_use_keys:
                break
            await pilot.pause(0.1)
            before, shown = shown, screen_lines(app)
        palette = app.look.palette
        text, back = (one if one.startswith("#") else "" for one in (palette.text, palette.background))
        return shown, text or "#202020", back or "#f4f4f4"


def problems(rows: Sequence[Strip]) -> list[str]:
    """Return what is wrong with a screen by its text."""
    text = "\n".join(row.text for row in rows)
    found = ["a part could not be drawn"] if "Could not render" in text else []
    return found + ([] if _WAYS.search(text) else ["no way to help or back"])


def write_png(rows: Sequence[Strip], colors: tuple[str, str], font: Path, path: Path) -> None:
    """Write a screen as PNG."""
    from PIL import Image, ImageDraw, ImageFont

    letters, (width, height) = ImageFont.truetype(str(font), 13), (8, 16)
    image = Image.new("RGB", (width * max(row.cell_length for row in rows), height * len(rows)), colors[1])
    pen = ImageDraw.Draw(image)
    for y, row in enumerate(rows):
        x = 0
        for text, style, _ in row:
            front, back = (
                one.get_truecolor().hex if one is not None and not one.is_default else None
                for one in ((style.color, style.bgcolor) if style else (None, None))
            )
            if style is not None and style.reverse:
                front, back = back or colors[1], front or colors[0]
            cells = cell_len(text)
            if back is not None and cells:
                pen.rectangle((x, y * height, x + cells * width - 1, (y + 1) * height - 1), fill=back)
            at = x
            for letter in text:
                pen.text((at, y * height), letter, fill=front or colors[0], font=letters)
                at += width * cell_len(letter)
            x += cells * width
    image.save(path)


async def draw_all(folder: Path, given: argparse.Namespace) -> None:
    """Write the pictures, and print what is wrong with them."""
    for name, situation in situations():
        if given.only and given.only not in name:
            continue
        for width in given.widths:
            for word in given.looks:
                wanted = replace(situation, size=(width, max(24, width // 4)), worn=LOOKS[word])
                file = folder / f"{name}-{width}-{word}"
                try:
                    rows, *colors = await take(wanted)
                except Exception as error:  # noqa: BLE001 - the others are drawn
                    print(f"{file.name}: {type(error).__name__} {error}", flush=True)
                    continue
                for problem in problems(rows):
                    print(f"{file.name}: {problem}", flush=True)
                svg = draw(rows, columns=width, text=colors[0], back_color=colors[1])
                file.with_suffix(".svg").write_text(svg, "utf-8")
                if given.font is not None:
                    write_png(rows, (colors[0], colors[1]), given.font, file.with_suffix(".png"))


def main() -> None:
    """Draw what the arguments name."""
    parser = argparse.ArgumentParser(description="Draw every page and panel at each width and in each look.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--looks", nargs="+", choices=LOOKS, default=list(LOOKS))
    parser.add_argument("--only", default="")
    parser.add_argument("--font", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = "/home/you"
    asyncio.run(draw_all(given.folder, given))


if __name__ == "__main__":
    main()
