"""Makes the documentation's recording: a turn with its undo, as an SVG that moves without a script.

python -m tests.support.terminal.recording assets/turn.svg

The real app on the real engine with the scripted model, in a repository of its own. The model waits at each point that is recorded,
so that every run has the same frames; times of day and durations, which differ, are replaced.
"""

import argparse
import asyncio
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rich.segment import Segment

from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, look, screen, screen_lines
from tests.support.terminal.screen_svg import Frame, draw_frames
from tests.support.world.repo import make_repo

SIZE = (100, 32)
_STILL_S = 0.6
_PROMPT = "the export loses its last row, fix it"
_BEFORE = """def rows(lines):
    result = []
    for at in range(len(lines) - 1):
        result.append(lines[at].split(","))
    return result
"""
_TEST = """from csvkit import rows


def test_last_row():
    assert rows(["a,b", "1,2"])[-1] == ["1", "2"]
"""
_WHY = "The loop ends one line early: `range(len(lines) - 1)` leaves the last one out. I correct the bound and add a test.\n\n"
_DONE = "`rows` now returns every line, and `tests/test_rows.py` holds it to that."
_OWN_TEST = "\n\ndef test_no_lines():\n    assert rows([]) == []\n"
_HELD = ("early:", "leaves", "correct")
_HELD_LATER = ("every", "holds")
_TIME, _DURATION = re.compile(r"\b[0-2][0-9]:[0-5][0-9]\b"), re.compile(r"\b[0-9]+ s\b")


@dataclass
class Recorder:
    """Collects frames of a page, each with the seconds that it is shown."""

    page: Page
    frames: list[Frame] = field(default_factory=list[Frame])

    async def show(self, seconds: float, words: str = "", *, still_s: float = _STILL_S) -> None:
        """Record the screen once it shows these words and has not changed for so long."""
        if words:
            await self.page.sees(words)
        rows, since = self._rows(), time.monotonic()
        while time.monotonic() - since < still_s:
            await self.page.pilot.pause(0.05)
            if (now := self._rows()) != rows:
                rows, since = now, time.monotonic()
        self.frames.append(Frame(seconds, rows))

    def _rows(self) -> list[list[Segment]]:
        return [fixed(row) for row in screen_lines(self.page.app)]

    async def type(self, text: str, seconds: float) -> None:
        """Type, a frame a letter, in so many seconds."""
        for letter in text:
            await self.page.type(letter)
            await self.show(seconds / len(text), still_s=0.1)


def fixed(row: Iterable[Segment]) -> list[Segment]:
    """Return a row with the same times in every run, as wide as before."""
    return [
        Segment(_DURATION.sub(_seconds, _TIME.sub("12:05", text)), style) for text, style, control in row if not control
    ]


def _seconds(found: re.Match[str]) -> str:
    return "2 s".rjust(len(found.group()))


async def record(folder: Path) -> list[Frame]:
    """Return the frames of the turn and its undo, recorded in an empty folder."""
    home = folder / "home"
    repo = make_repo(home / "csvkit")
    repo.write("csvkit.py", _BEFORE)
    repo.write("tests/__init__.py", "")
    repo.commit("begin")
    os.environ["HOME"] = str(home)
    holds = {word: threading.Event() for word in (*_HELD, *_HELD_LATER)}
    edit = {
        "filePath": str(repo.path / "csvkit.py"),
        "oldString": "range(len(lines) - 1)",
        "newString": "range(len(lines))",
    }
    write = {"filePath": str(repo.path / "tests" / "test_rows.py"), "content": _TEST}
    read = {"filePath": str(repo.path / "csvkit.py")}
    answers = (
        Answer(calls=(Call("read", read),), usage=(3_100, 40, 0)),
        Answer(
            text=_WHY,
            calls=(Call("edit", edit),),
            holds=tuple((word, holds[word]) for word in _HELD),
            usage=(3_300, 90, 3_100),
        ),
        Answer(calls=(Call("write", write),), usage=(3_500, 80, 3_300)),
        Answer(text=_DONE, holds=tuple((word, holds[word]) for word in _HELD_LATER), usage=(3_700, 30, 3_500)),
    )
    settings = {"permission": {"edit": "allow"}}
    async with screen(
        isolated_environment(home), repo.path, *answers, settings=settings, size=SIZE, worn=look()
    ) as page:
        page.world.server.title_answers.append(Answer(text="Keep the last row of an export", usage=(300, 10, 0)))
        recorder = Recorder(page)
        await recorder.show(0.8, "sandbox")
        await recorder.type(_PROMPT, 1.8)
        await page.press("enter")
        for word, shown in zip(_HELD, ("ends one line", "1)", "last one out"), strict=True):
            await recorder.show(0.5, shown)
            holds[word].set()
        for word, shown in zip(_HELD_LATER, ("now returns", "test_rows.py"), strict=True):
            await recorder.show(0.6, shown)
            holds[word].set()
        await recorder.show(3.5, "Done")
        repo.write("tests/test_rows.py", _TEST + _OWN_TEST)  # the user goes on with the agent's file: it is kept
        await recorder.type("/undo", 0.8)
        await recorder.show(0.6)
        await page.press("enter")
        await page.sees("y undo")
        await recorder.show(4.5)  # still, so that the question accepts keys and shows that
        await page.press("y")
        await recorder.show(4.0, "undone")
        assert (repo.path / "csvkit.py").read_text() == _BEFORE
        assert (repo.path / "tests" / "test_rows.py").read_text() == _TEST + _OWN_TEST
    return recorder.frames


def main() -> None:
    """Write the recording."""
    parser = argparse.ArgumentParser(description="Record a turn with its undo as an animated SVG.")
    parser.add_argument("target", type=Path)
    target: Path = parser.parse_args().target
    palette = look().palette
    with tempfile.TemporaryDirectory() as folder:
        frames = asyncio.run(record(Path(folder)))
    drawn = draw_frames(frames, columns=SIZE[0], text=palette.text, back_color=palette.background)
    target.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
