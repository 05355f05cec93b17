"""Measuring requests: nothing is loaded or counted before it matters, and turns teach the estimate."""

import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.provider.stream import LlmRequest, MediaBlock, TextBlock, UserEntry
from opencode_tui.engine.session.meter import TokenMeter
from tests.support.build import MODEL
from tests.support.model_script import Answer, Call
from tests.support.opened import MODEL as FAKE
from tests.support.opened import opened
from tests.support.token_counter import Window


def request(*blocks: TextBlock | MediaBlock) -> LlmRequest:
    return LlmRequest(model=MODEL, system=("system",), messages=(UserEntry(blocks),))


def test_a_request_that_cannot_exceed_a_size_is_not_counted(tmp_path: Path) -> None:
    meter = TokenMeter(folder=tmp_path)
    small, large = request(TextBlock("word " * 10)), request(TextBlock("word " * 10_000))
    assert meter.size(small, beyond=1_000) == 0
    assert meter.size(small) > 0
    assert meter.size(large, beyond=1_000) == meter.size(large) > 9_000


@pytest.mark.parametrize("text", ["中" * 400, "🙂" * 400])
def test_texts_beyond_ascii_may_take_more_than_a_token_a_character(text: str, tmp_path: Path) -> None:
    assert TokenMeter(folder=tmp_path).size(request(TextBlock(text)), beyond=1_000) > 0


def test_media_are_always_counted(tmp_path: Path) -> None:
    picture = request(MediaBlock("image/png", "AAAA"))
    assert TokenMeter(folder=tmp_path).size(picture, beyond=100) > 1_000


def test_the_estimate_is_not_loaded_with_the_engine() -> None:
    code = "import sys, opencode_tui.engine.wire; print('opencode_tui.engine.session.calibration' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


async def test_turns_teach_what_the_provider_counts(environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def run(value):\n    return value + 1\n" * 300)
    async with opened(environ, folder, window=Window()) as world:
        session = await world.new_session()
        for _ in range(5):
            world.server.script(Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="read"))
            await world.prompt("read it", session=session)
    (kept,) = (Path(environ["XDG_STATE_HOME"]) / "opencode-tui" / "tokens").glob("*.json")
    assert str(FAKE) in kept.read_text() and '"reports": 10' in kept.read_text()
