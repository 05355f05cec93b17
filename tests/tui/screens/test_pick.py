"""Picking something out of the conversation: a response or a code block to copy, a file to open in the editor."""

from pathlib import Path

import pytest

from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.actions.pick import files_of, parts_to_copy
from opencode_tui.tui.external_editor import command_at, editor_words, has_window
from opencode_tui.tui.state.message import AnyItem, TextItem, ToolItem, UserItem
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


TWO = "Run this:\n\n```sh\nmake test\n```\n\nand this:\n\n```python\nprint('two')\nprint('lines')\n```\n"


def responses(*texts: str) -> list[AnyItem]:
    items: list[AnyItem] = []
    for number, text in enumerate(texts):
        items.append(UserItem(id=f"u{number}", message_id=f"u{number}", text=f"request {number}"))
        items.append(TextItem(id=f"t{number}", message_id=f"m{number}", pieces=[text], has_words=True))
    return items


def test_the_latest_response_and_its_code_blocks_come_first() -> None:
    parts = parts_to_copy(responses("old", TWO))
    assert [(one.note, one.group) for one in parts] == [
        ("response, 12 lines", "request 1"),
        ("sh, 1 line", "request 1"),
        ("python, 2 lines", "request 1"),
        ("response, 1 line", "request 0"),
    ]
    assert parts[1].text == "make test"


async def test_a_code_block_is_chosen_with_a_preview_and_copied(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text=TWO)) as page:
        await page.send("how do I test?")
        await page.sees("Done")
        await page.press("ctrl+x", "p")
        text = await page.sees("Copy a response or a code block")
        assert "how do I test?" in text
        assert "sh, 1 line" in text
        await page.press("down", "down")
        await page.sees("print('lines')")
        await page.press("enter")
        await page.sees("Copied  python, 2 lines")
        assert page.app.clipboard == "print('two')\nprint('lines')"


async def test_without_a_response_nothing_is_copied(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+x", "p")
        await page.sees("No response to copy yet")


def write_editor(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install an editor that records its arguments in a file, whose path is returned."""
    log = folder / "opened"
    program = folder / name
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}.part\nmv {log}.part {log}\n')
    program.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(program))
    monkeypatch.delenv("VISUAL", raising=False)
    return log


async def opened_by(log: Path, page: Page) -> list[str]:
    """Return the editor's arguments once it has run."""
    await page.pilot.pause(0.05)
    for _ in range(500):
        if log.exists():
            break
        await page.pilot.pause(0.02)
    return log.read_text().splitlines()


async def test_the_only_named_file_opens_at_its_line(
    environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_editor(tmp_path, "code", monkeypatch)
    (folder / "a.py").write_text("x = 1\n\ny = 2\n")
    async with screen(environ, folder, Answer(text="The fault is in `a.py:3`, not in b.py:1.")) as page:
        await page.send("where?")
        await page.sees("The fault is in")
        await page.press("ctrl+x", "o")
        assert await opened_by(log, page) == ["-g", f"{folder}/a.py:3"]


async def test_one_of_several_files_is_chosen_by_its_line(
    environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_editor(tmp_path, "code", monkeypatch)
    (folder / "a.py").write_text("x = 1\n\ny = 2\n")
    (folder / "b.py").write_text("import a\n")
    async with screen(environ, folder, Answer(text="See a.py:3 and b.py:1")) as page:
        await page.send("where?")
        await page.sees("See a.py:3")
        await page.press("ctrl+x", "o")
        text = await page.sees("Open in your editor")
        assert "y = 2" in text and "import a" in text
        await page.type("b.py")
        await page.press("enter")
        assert await opened_by(log, page) == ["-g", f"{folder}/b.py:1"]


async def test_a_focused_call_opens_its_file(
    environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_editor(tmp_path, "code", monkeypatch)
    (folder / "notes.txt").write_text("one\ntwo\nthree\nfour\n")
    read = Answer(calls=(Call("read", {"filePath": str(folder / "notes.txt"), "offset": 3}),))
    async with screen(environ, folder, read, Answer(text="Four lines.")) as page:
        await page.send("read it")
        await page.sees("Done")
        await page.press("ctrl+up")
        view = page.app.chat.opened.view
        while not isinstance(view._acts.focused, ToolItem):
            await page.press("up")
        await page.press("o")
        assert await opened_by(log, page) == ["-g", f"{folder}/notes.txt:3"]


async def test_without_a_named_file_a_line_says_so(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Nothing in gone.py:3")) as page:
        await page.send("where?")
        await page.sees("Nothing in")
        await page.press("ctrl+x", "o")
        await page.sees("No file is named here")


def test_a_path_of_a_diff_and_an_absolute_one_are_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("first\nsecond\n")
    found = files_of(responses(f"--- a/src/a.py\n{tmp_path}/src/a.py:2\nsrc/none.py:1"), tmp_path)
    assert [(one.reference.line, one.text) for one in found] == [(0, ""), (2, "second")]


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["vim"], ["+3", "a.py"]),
        (["/usr/bin/nano", "-w"], ["-w", "+3", "a.py"]),
        (["emacs", "-nw"], ["-nw", "+3", "a.py"]),
        (["hx"], ["a.py:3:7"]),
        (["code", "--wait"], ["--wait", "-g", "a.py:3:7"]),
        (["subl"], ["a.py:3:7"]),
        (["pycharm"], ["--line", "3", "a.py"]),
        (["unknown"], ["a.py"]),
    ],
)
def test_each_editor_gets_the_line_in_its_form(words: list[str], arguments: list[str]) -> None:
    assert command_at(words, Path("a.py"), 3, 7) == [words[0], *arguments]
    assert command_at(words, Path("a.py"), 0) == [*words, "a.py"]


def test_editors_with_a_window_leave_the_terminal_alone() -> None:
    assert has_window(["/usr/bin/code", "--wait"])
    assert not has_window(["vim"])


def test_an_editor_that_is_no_command_line_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "vim 'x")
    with pytest.raises(OpencodeError, match="EDITOR is not a command line"):
        editor_words()


async def test_a_key_of_the_changes_opens_the_file_at_the_shown_line(
    environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {n}" for n in range(1, 61)]
    (folder / "long.txt").write_text("\n".join(lines))
    edits = [{"filePath": "long.txt", "oldString": f"line {n}\n", "newString": f"changed {n}\n"} for n in (5, 40)]
    calls = tuple(Call("edit", edit) for edit in edits)
    log = write_editor(tmp_path, "code", monkeypatch)
    read = Answer(calls=(Call("read", {"filePath": "long.txt"}),))
    async with screen(environ, folder, read, Answer(calls=calls), Answer(text="Both changed.")) as page:
        await page.send("change two lines")
        await page.sees("Done")
        await page.press("ctrl+x", "d")
        await page.sees("o open in your editor")
        await page.press("o")
        assert await opened_by(log, page) == ["-g", f"{folder}/long.txt:5"]
        log.unlink()
        await page.press("u", "n", "o")
        assert await opened_by(log, page) == ["-g", f"{folder}/long.txt:40"]
        (folder / "long.txt").unlink()
        await page.press("o")
        await page.sees("long.txt does not exist any more")
        monkeypatch.delenv("EDITOR")
        (folder / "long.txt").write_text("there again")
        await page.press("o")
        await page.sees("No editor set. Set EDITOR")
        await page.press("escape", "f1")
        await page.type("shown line")
        await page.sees("Open the file at the shown line in your editor")
