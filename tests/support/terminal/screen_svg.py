"""Draws the cells of a screen as an SVG that looks the same in every monospace font: each run of letters is at its cell."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

CELL, LINE, SIZE, EDGE = 10, 20, 16.6, 14
"""Width and height of a cell, size of the letters, and the room around the screen; in pixels of the drawing."""

FONTS = "'DejaVu Sans Mono', 'JetBrains Mono', Menlo, Consolas, monospace"

_BARS = {"▎": (0.0, 0.25), "│": (0.44, 0.1), "┃": (0.38, 0.22), "█": (0.0, 1.0)}
"""Signs that touch the rows above and below: where they begin in the cell, and how wide they are."""

_FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>.b {{ font-weight: bold }} .i {{ font-style: italic }} .u {{ text-decoration: underline }}</style>
<rect width="{width}" height="{height}" rx="8" fill="{back_color}"/>
<g transform="translate({edge} {edge})" font-family="{fonts}" font-size="{size}">
{drawn}
</g>
</svg>
"""


def draw(rows: Sequence[Iterable[Segment]], *, columns: int, text: str, back_color: str) -> str:
    """Return the rows as an SVG; `text` and `back_color` are the colors of cells without their own."""
    drawn: list[str] = []
    for at, cells in enumerate(rows):
        drawn += _row(list(cells), at * LINE, text, back_color)
    width, height = columns * CELL + 2 * EDGE, len(rows) * LINE + 2 * EDGE
    return _FRAME.format(
        width=width, height=height, size=SIZE, back_color=back_color, edge=EDGE, fonts=FONTS, drawn="\n".join(drawn)
    )


class Frame(NamedTuple):
    """A screen of a recording, and the seconds for which it is shown."""

    seconds: float
    rows: Sequence[Sequence[Segment]]


def draw_frames(frames: Sequence[Frame], *, columns: int, text: str, back_color: str) -> str:
    """Return frames of equal height as one SVG that shows them again and again, without a script.

    Each row is drawn once for each of its contents, which are visible while their frames are shown; where nothing moves, the
    last frame is seen.
    """
    whole = sum(frame.seconds for frame in frames)
    begins = [sum(frame.seconds for frame in frames[:at]) / whole for at in range(len(frames))]
    drawn: list[str] = []
    for at in range(len(frames[0].rows)):
        contents = ["\n".join(_row(frame.rows[at], at * LINE, text, back_color)) for frame in frames]
        for content in dict.fromkeys(contents):
            shown = [one == content for one in contents]
            drawn += _shown_while(content, shown, begins, whole) if content else []
    width, height = columns * CELL + 2 * EDGE, len(frames[0].rows) * LINE + 2 * EDGE
    return _FRAME.format(
        width=width, height=height, size=SIZE, back_color=back_color, edge=EDGE, fonts=FONTS, drawn="\n".join(drawn)
    )


def _shown_while(content: str, shown: Sequence[bool], begins: Sequence[float], whole: float) -> list[str]:
    """Return a group that is visible in some frames; `begins` are shares of the whole seconds."""
    if all(shown):
        return [content]
    changes = [at for at in range(len(shown)) if at == 0 or shown[at] != shown[at - 1]]
    times = ";".join(f"{begins[at]:.4f}".rstrip("0").rstrip(".") for at in changes)
    values = ";".join("visible" if shown[at] else "hidden" for at in changes)
    animate = (
        f'<animate attributeName="visibility" dur="{whole:g}s" repeatCount="indefinite" calcMode="discrete" '
        f'keyTimes="{times}" values="{values}"/>'
    )
    return [f'<g visibility="{"visible" if shown[-1] else "hidden"}">{animate}', content, "</g>"]


def _row(cells: Sequence[Segment], y: int, text: str, back_color: str) -> list[str]:
    tones: list[tuple[int, int, str]] = []
    letters: list[str] = []
    x = 0
    for segment in cells:
        if segment.control:
            continue
        style = segment.style or Style.null()
        wide = cell_len(segment.text)
        fore, back = _colors(style, text, back_color)
        if tones and tones[-1][2] == back:
            tones[-1] = (tones[-1][0], tones[-1][1] + wide, back)
        else:
            tones.append((x, wide, back))
        letters += _letters(segment.text, x, y, fore, _classes(style))
        x += wide
    return [_rect(at * CELL, y, wide * CELL, tone) for at, wide, tone in tones if tone != back_color] + letters


def _letters(text: str, x: int, y: int, color: str, classes: str) -> list[str]:
    drawn: list[str] = []
    word, begin = "", x

    def end() -> None:
        nonlocal word
        if word:
            length = cell_len(word) * CELL
            words = escape(word, quote=False).replace(" ", "\u00a0")
            drawn.append(
                f'<text x="{begin * CELL}" y="{y + LINE * 0.74:g}" textLength="{length}" fill="{color}"{classes}>{words}</text>'
            )
        word = ""

    for position, letter in enumerate(text):
        bar = _BARS.get(letter)
        is_gap = letter == " " and (not word or text[position + 1 : position + 2] in (" ", ""))
        if bar or is_gap:
            end()
            if bar:
                drawn.append(_rect((x + bar[0]) * CELL, y, bar[1] * CELL, color))
        else:
            begin = begin if word else x
            word += letter
        x += cell_len(letter)
    end()
    return drawn


def _rect(x: float, y: int, width: float, color: str) -> str:
    return f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{LINE}" fill="{color}" shape-rendering="crispEdges"/>'


def _colors(style: Style, text: str, back_color: str) -> tuple[str, str]:
    fore = style.color.get_truecolor().hex if style.color and not style.color.is_default else text
    back = style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else back_color
    return (back, fore) if style.reverse else (fore, back)


def _classes(style: Style) -> str:
    names = [name for name, is_on in (("b", style.bold), ("i", style.italic), ("u", style.underline)) if is_on]
    return f' class="{" ".join(names)}"' if names else ""
