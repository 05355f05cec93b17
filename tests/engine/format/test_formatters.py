"""Formatters inside edits: what they may change, what the model hears, the next edit. With a tiny formatter."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import FormatterSettings
from opencode_tui.engine.format import formatters as formatters_module
from opencode_tui.engine.format.file_copy import FileCopy, copy_file
from opencode_tui.engine.format.formatted import Formatted
from opencode_tui.engine.format.formatters import Formatters, changed_lines, is_near
from opencode_tui.engine.format.known_formatters import FormatterTable
from opencode_tui.engine.project.programs import FoundProgram, ProjectPrograms, start_program
from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.edit.file_editor import FileEditor
from opencode_tui.schema.api.language import FormatterState
from opencode_tui.schema.error import ConfigError
from tests.support.world.machine import PYTHON
from tests.support.world.processes import is_running
from tests.support.world.tools import Workbench
from tests.support.world.waiting import PATIENCE_S, until

PROGRAM = """
import sys, time
text = open(sys.argv[1]).read() if len(sys.argv) > 1 else sys.stdin.read()
if "BROKEN" in text:
    sys.exit("it is broken")
text = "\\n".join(line.rstrip() for line in text.split("\\n"))
open(sys.argv[1], "w").write(text) if len(sys.argv) > 1 else sys.stdout.write(text)
"""


class World:
    """A folder in which a formatter removes blanks at the ends of lines."""

    def __init__(self, tmp_path: Path, environ: dict[str, str], *arguments: str, **fields: Any) -> None:
        script = tmp_path / "fmt.py"
        script.write_text(PROGRAM)
        folder = tmp_path / "project"
        folder.mkdir()
        entry = {"command": [PYTHON, "-S", str(script), *arguments], "extensions": ["txt"], **fields}
        self.bench = Workbench(folder)
        self.reported: list[str] = []
        self.formatters = formatters = Formatters(
            make_table=lambda: FormatterTable(
                {"fmt": FormatterSettings.model_validate(entry)},
                ProjectPrograms(
                    environ=environ,
                    directory=folder,
                    worktree=folder,
                    is_trusted=False,
                    is_sandboxed=lambda: False,
                ),
            ),
            make_environ=lambda _: environ,
            start_confined=start_program,
            scratch=tmp_path / "scratch",
            report=self.reported.append,
        )
        editor = FileEditor(
            files=self.bench.files,
            stamps=self.bench.stamps,
            permission=self.bench.permission,
            format_edit=formatters.format,
        )
        self.edit, self.write = EditTool(editor=editor), WriteTool(editor=editor)
        self.patch = ApplyPatchTool(
            files=self.bench.files,
            stamps=self.bench.stamps,
            permission=self.bench.permission,
            format_edit=formatters.format,
        )
        self.file = folder / "a.txt"


@pytest.mark.parametrize("arguments", [(), ("$FILE",)])
async def test_an_edit_is_formatted_and_the_next_one_is_not_refused(
    tmp_path: Path, environ: dict[str, str], arguments: tuple[str, ...]
) -> None:
    world = World(tmp_path, environ, *arguments)
    world.file.write_text("one\ntwo\n")
    await world.bench.read("a.txt")
    done = await world.bench.call(world.edit, filePath="a.txt", oldString="two", newString="deux   ")
    assert world.file.read_text() == "one\ndeux\n"
    assert done.output == "Edited a.txt.\nfmt formatted it; line 2 now:\ndeux"
    assert "+deux\n" in done.metadata["diff"] and done.metadata["diff"] == world.bench.asked[-1].metadata["diff"]
    await world.bench.call(world.edit, filePath="a.txt", oldString="deux", newString="drei")
    assert world.file.read_text() == "one\ndrei\n"
    assert [path.name for path in world.bench.edited] == ["a.txt", "a.txt"]


_REPLACE = 'echo "$f" >> ../log; echo new > "$f"'


@pytest.mark.parametrize("rest", [("f=$FILE; " + _REPLACE,), ("f=${1#--write=}; " + _REPLACE, "fmt", "--write=$FILE")])
async def test_a_command_with_the_file_in_an_argument_gets_a_copy_too(
    tmp_path: Path, environ: dict[str, str], rest: tuple[str, ...]
) -> None:
    world = World(tmp_path, environ, command=["sh", "-c", *rest])
    world.file.write_text("old\n")
    formatted = await world.formatters.format(world.file, "older\n", "old\n")
    assert (formatted.text, world.file.read_text()) == ("new\n", "old\n")
    assert str(world.bench.folder) not in (tmp_path / "scratch/log").read_text()


@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("before", [None, "old\n"])
@pytest.mark.parametrize(
    "script", [": > $FILE", "printf '\\n \\n' > $FILE", "rm $FILE; mkfifo $FILE", "rm $FILE; mkdir $FILE", "rm $FILE"]
)
async def test_a_command_that_leaves_nothing_of_its_copy_changes_nothing(
    tmp_path: Path, environ: dict[str, str], script: str, before: str | None, is_whole: bool
) -> None:
    world = World(tmp_path, environ, command=["sh", "-c", script], whole=is_whole)
    assert await world.formatters.format(world.file, before, "a\n") == Formatted("a\n")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "count"),
    [(":", 1_398_102), (":", 1_500_000), ("yes | head -c 5000000 > $FILE", 1)],
)
async def test_a_text_that_is_too_long_is_never_cut(
    tmp_path: Path, environ: dict[str, str], script: str, count: int
) -> None:
    world = World(tmp_path, environ, command=["sh", "-c", script, "$FILE"])
    text = "a" + "\u6f22" * count  # the limit is between two characters
    formatted = await world.formatters.format(world.file, None, text)
    assert (formatted.text == text, formatted.message) == (True, "")  # a difference is too long to print


async def test_a_copy_that_is_made_during_a_cancellation_is_deleted(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, ended = (threading.Event() for _ in range(3))

    def copy_later(*arguments: Any, **fields: Any) -> FileCopy:
        begun.set()
        assert go.wait(PATIENCE_S)
        try:
            return copy_file(*arguments, **fields)
        finally:
            ended.set()

    monkeypatch.setattr(formatters_module, "copy_file", copy_later)
    world = World(tmp_path, environ, "$FILE")
    task = asyncio.create_task(world.formatters.format(world.file, None, "a   \n"))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 30)
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.slow
async def test_a_formatter_that_was_late_is_killed_with_its_children_and_stays_off(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formatters_module, "TIMEOUT_S", 0.5)
    world = World(tmp_path, environ, command=["sh", "-c", "sleep 1000 & echo $! >> ../log"])
    assert (await world.formatters.format(world.file, None, "a\n")).text == "a\n"
    [pid] = (tmp_path / "log").read_text().split()
    await until(lambda: not is_running(int(pid)))
    await world.formatters.format(world.file, None, "b\n")
    assert (tmp_path / "log").read_text().split() == [pid]


async def test_an_edit_is_written_even_when_settings_cannot_be_read(tmp_path: Path, environ: dict[str, str]) -> None:
    def fail(_: bool) -> dict[str, str]:
        raise ConfigError("broken")

    world = World(tmp_path, environ)
    formatters = Formatters(
        make_table=world.formatters._make_table,
        make_environ=fail,
        start_confined=start_program,
        scratch=tmp_path,
        report=world.reported.append,
    )
    assert (await formatters.format(world.file, None, "a   \n")).text == "a   \n"


async def test_a_formatter_of_the_settings_that_cannot_run_is_named_once(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    world = World(tmp_path, environ, command=["no-such-formatter"])
    for text in ("a   \n", "b   \n"):
        assert (await world.formatters.format(world.file, None, text)).text == text
    assert (await world.formatters.format(world.file.with_suffix(".md"), None, "c   \n")).text == "c   \n"
    (line,) = world.reported
    assert line == "fmt does not format: no-such-formatter is not installed, or needs trust: `opencode-tui trust`"


async def test_what_would_change_other_lines_is_dropped(tmp_path: Path, environ: dict[str, str]) -> None:
    world = World(tmp_path, environ)
    world.file.write_text("far   \n\n\n\n\ntwo\n")
    await world.bench.read("a.txt")
    done = await world.bench.call(world.edit, filePath="a.txt", oldString="two", newString="deux   ")
    assert (world.file.read_text(), done.output) == ("far   \n\n\n\n\ndeux   \n", "Edited a.txt.")


async def test_the_whole_file_may_change_where_the_settings_say_so(tmp_path: Path, environ: dict[str, str]) -> None:
    world = World(tmp_path, environ, whole=True)
    world.file.write_text("far   \n\n\n\n\ntwo\n")
    await world.bench.read("a.txt")
    await world.bench.call(world.edit, filePath="a.txt", oldString="two", newString="deux   ")
    assert world.file.read_text() == "far\n\n\n\n\ndeux\n"


async def test_a_formatter_that_fails_changes_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    world = World(tmp_path, environ)
    done = await world.bench.call(world.write, filePath="a.txt", content="BROKEN   \n")
    assert (world.file.read_text(), done.output) == ("BROKEN   \n", "Wrote a.txt (new file).")


async def test_a_formatter_that_writes_without_end_is_killed_and_changes_nothing(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formatters_module, "_MOST_RESULT_BYTES", 100_000)
    world = World(tmp_path, environ, command=["sh", "-c", "echo $$ >> ../log; exec yes"])
    assert (await world.formatters.format(world.file, None, "a\n")).text == "a\n"
    [pid] = (tmp_path / "log").read_text().split()
    assert not Path(f"/proc/{pid}").exists()


async def test_line_ends_stay_and_patches_are_formatted(tmp_path: Path, environ: dict[str, str]) -> None:
    world = World(tmp_path, environ)
    world.file.write_bytes(b"one\r\ntwo\r\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+deux   \n*** Add File: b.txt\n+new   \n*** End Patch"
    done = await world.bench.call(world.patch, patchText=patch)
    assert world.file.read_bytes() == b"one\r\ndeux\r\n"
    assert (world.bench.folder / "b.txt").read_text() == "new\n"
    assert done.output.endswith(
        "\na.txt:\nfmt formatted it; line 2 now:\ndeux\nb.txt:\nfmt formatted it; read it before you edit it again."
    )


def test_only_lines_next_to_an_edit_are_near() -> None:
    text = "\n".join(str(number) for number in range(20))
    assert changed_lines("a\nb\nc", "a\nB\nc\nd") == [((1, 2), (1, 2)), ((3, 3), (3, 4))]
    assert is_near(text, text.replace("\n7\n", "\nseven\n"), [(10, 11)])
    assert not is_near(text, text.replace("\n6\n", "\nsix\n"), [(10, 11)])


def test_without_settings_and_without_trust_nothing_runs(tmp_path: Path, environ: dict[str, str]) -> None:
    program = tmp_path / "node_modules/.bin/prettier"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / ".prettierrc").write_text("{}")

    def enabled(settings: Any, *, is_trusted: bool, is_sandboxed: bool = False) -> bool:
        table = FormatterTable(
            settings,
            ProjectPrograms(
                environ=environ,
                directory=tmp_path,
                worktree=tmp_path,
                is_trusted=is_trusted,
                is_sandboxed=lambda: is_sandboxed,
            ),
        )
        assert table.find(tmp_path.parent / "other.js") is None
        return next(one.enabled for one in table.states() if one.name == "prettier")

    assert not enabled(None, is_trusted=True)
    assert not enabled(True, is_trusted=False)
    assert enabled(True, is_trusted=True)
    assert enabled({"prettier": FormatterSettings()}, is_trusted=True)
    own = {"prettier": FormatterSettings(command=[str(program)])}
    assert enabled(own, is_trusted=True)
    assert not enabled(own, is_trusted=False)
    assert enabled(own, is_trusted=True, is_sandboxed=True)
    assert enabled(True, is_trusted=True, is_sandboxed=True)
    assert not enabled(True, is_trusted=False, is_sandboxed=True)
    assert not enabled({"prettier": FormatterSettings(disabled=True)}, is_trusted=True)


@pytest.mark.parametrize(
    ("name", "command", "needs_trust"),
    [
        ("prettier", None, True),
        ("oxfmt", None, True),
        ("mine", ["prettier", "--write", "$FILE"], True),
        ("mine", ["npx", "prettier", "--write", "$FILE"], True),
        ("mine", ["npx", "-y", "oxfmt@latest", "$FILE"], True),
        ("biome", ["BIN/prettier", "$FILE"], True),
        ("biome", None, False),
        ("mine", ["npx", "biome", "format", "$FILE"], False),
    ],
)
def test_a_formatter_whose_settings_are_programs_needs_trust_under_every_name(
    tmp_path: Path, environ: dict[str, str], name: str, command: list[str] | None, *, needs_trust: bool
) -> None:
    """`oxfmt.config.ts` is a program: https://oxc.rs/docs/guide/usage/formatter/config, version 0.79."""
    project, outside = tmp_path / "project", tmp_path / "bin"
    project.mkdir()
    outside.mkdir()
    for program in ("prettier", "oxfmt", "biome", "npx"):
        (outside / program).write_text("#!/bin/sh\n")
        (outside / program).chmod(0o755)
    given = None if command is None else [word.replace("BIN", str(outside)) for word in command]

    def find(*, is_trusted: bool) -> FoundProgram | None:
        programs = ProjectPrograms(
            environ={**environ, "PATH": str(outside)},
            directory=project,
            worktree=project,
            is_trusted=is_trusted,
            is_sandboxed=lambda: True,
        )
        table = FormatterTable({name: FormatterSettings(command=given, extensions=[".ts"])}, programs)
        found = table.find(project / "a.ts")
        return None if found is None else found[1]

    trusted = find(is_trusted=True)
    assert trusted is not None
    assert trusted.is_confined == needs_trust
    assert (find(is_trusted=False) is None) == needs_trust


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("uv", "it would download ruff; name ruff instead"),
        ("pint", "it reads no standard input; set its command, with $FILE"),
        ("ktlint", "ktlint is not installed, or needs trust: `opencode-tui trust`"),
    ],
)
def test_a_formatter_that_is_set_and_cannot_run_says_why(tmp_path: Path, name: str, detail: str) -> None:
    def states(settings: Any) -> dict[str, Any]:
        table = FormatterTable(
            settings,
            ProjectPrograms(
                environ={"PATH": ""},
                directory=tmp_path,
                worktree=tmp_path,
                is_trusted=True,
                is_sandboxed=lambda: True,
            ),
        )
        return {one.name: (one.enabled, one.detail) for one in table.states()}

    assert states({name: FormatterSettings()})[name] == (False, detail)
    assert states(None)[name] == states(True)[name] == (False, None)
    assert "detail" not in FormatterState(name="x", enabled=True).to_dict()


def test_with_true_an_installed_formatter_without_settings_in_the_project_says_why(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "gofmt"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()

    def states() -> dict[str, tuple[bool, str | None]]:
        finder = ProjectPrograms(
            environ={"PATH": str(programs)},
            directory=project,
            worktree=project,
            is_trusted=True,
            is_sandboxed=lambda: True,
        )
        return {one.name: (one.enabled, one.detail) for one in FormatterTable(True, finder).states()}

    found = states()
    assert found["gofmt"] == (True, None)
    assert found["zig"] == (False, None), "what is not installed is not listed"
    enabled, detail = found["ruff"]
    assert not enabled
    assert detail == (
        "the project has no settings for it (ruff.toml, .ruff.toml, pyproject.toml); "
        '`"formatter": {"ruff": {}}` runs it without them'
    )
    (project / "ruff.toml").touch()
    assert states()["ruff"] == (True, None)
