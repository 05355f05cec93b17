"""Where rows end at 200 columns, what the first page without a key says, and what the first keys load."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal.screen import screen_lines, screen_text
from tests.support.world.cli import PACKAGE_ROOT
from tests.tui.screens.test_comfort_looks import SITUATIONS as COMFORTS
from tests.tui.screens.test_counterparts import SITUATIONS as COUNTERPARTS
from tests.tui.screens.test_looks import SITUATIONS, Situation, opened_app
from tests.tui.screens.test_page_looks import SITUATIONS as PAGES
from tests.tui.screens.test_panel_looks import SITUATIONS as PANELS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]


async def test_at_200_columns_facts_and_prompt_end_at_one_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS["working-with-the-sidebar"])
    async with app.run_test(size=(200, 50)) as pilot:
        await act(pilot)
        width = app.chat.opened.view.size.width
        rows = [line.crop(0, width).text.rstrip() for line in screen_lines(app)]
        ends = {len(row) for row in rows if row[1:2] in ("✓", "●") or row.startswith(" ▎ The last row")}
        assert ends == {width - 2}
        assert app.query_one("Editor").region.right == width - 1


async def test_without_a_key_the_first_page_names_login_before_commands_of_the_shell() -> None:
    app, act = opened_app(SITUATIONS["first-run-without-a-key"])
    async with app.run_test(size=(80, 24)) as pilot:
        await act(pilot)
        text = screen_text(app)
        assert 0 < text.index("/login") < text.index("opencode-tui auth login")


KEYS = """
import asyncio, sys
from tests.support.terminal.warm import warm
from tests.tui.screens.test_looks import SITUATIONS, opened_app

async def main():
    app, act = opened_app(SITUATIONS["first-run-with-a-key"])
    warm()
    async with app.run_test(size=(100, 30)) as pilot:
        await act(pilot)
        before = set(sys.modules)
        await pilot.press("a", "b", "left", "backspace", "end", "space", "1")
        await pilot.pause(0.1)
        print(sorted(one for one in set(sys.modules) - before if not one.startswith("encodings")))

asyncio.run(main())
"""


def test_the_first_keys_import_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEYS],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(PACKAGE_ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("first-run-with-a-key", "@a.py#L10-20"),
        ("permission-rejected-with-a-word", "Reject: what should the agent do instead?"),
        ("permission-rejected-with-a-word", "leave empty to stop the turn"),
        ("rate-limited", " s esc stop trying"),
        ("undo-with-its-preview", "you changed it at 12:05"),
    ],
)
async def test_at_60_columns_no_sentence_is_cut(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(SITUATIONS[name])
    async with app.run_test(size=(60, 30)) as pilot:
        await act(pilot)
        assert words in screen_text(app)


async def text_of(situation: Situation, monkeypatch: pytest.MonkeyPatch, width: int) -> str:
    monkeypatch.setenv("HOME", "/home/you")
    app, act = opened_app(situation)
    async with app.run_test(size=(width, 24)) as pilot:
        await act(pilot)
        return screen_text(app)


@pytest.mark.parametrize("width", [60, 80])
async def test_no_fact_of_a_check_that_failed_is_cut(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = await text_of(COMFORTS["check-that-fails"], monkeypatch, width)
    (line,) = [line for line in text.splitlines() if "✗ check" in line]
    command, _, facts = line.partition("  exit 1")
    assert command.endswith("…") and "…" not in facts and len(command) >= 18


async def test_what_an_undo_left_as_it_was_is_counted_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "2 undone · 2 reverted · 1 kept " in await text_of(COUNTERPARTS["undone-stretch"], monkeypatch, 80)


async def test_the_signs_below_the_tokens_of_the_turns_are_those_of_the_same_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = (await text_of(PAGES["timeline-of-five-turns"], monkeypatch, 80)).splitlines()
    (tokens,) = [line for line in lines if "Tokens " in line]
    (changes,) = [line for line in lines if "Changes " in line]
    begin = tokens.index("▁")
    assert tokens[begin : begin + 7] == "▁▁▁█≡▂ "
    assert changes[begin : begin + 7] == " ↶↶↶ ↶ ", (
        "the first turn only read, and the rule of a compaction changes nothing"
    )


@pytest.mark.parametrize("width", [60, 80])
async def test_no_row_of_the_costs_is_wrapped(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = (await text_of(PANELS["cost"], monkeypatch, width)).splitlines()
    (row,) = [line.split() for line in lines if "96 k" in line]
    assert row[-7:] == ["1", "96", "k", "8", "k", "0", "$0.42"]


async def test_nothing_of_the_conversation_stands_beside_a_list_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (await text_of(COMFORTS["code-blocks-to-copy"], monkeypatch, 80)).splitlines()
    begin = next(at for at, line in enumerate(lines) if "Copy a response" in line)
    beside = {line[:3].replace("▎", "").strip() for line in lines[begin - 1 : begin + 13]}
    assert beside == {""}
