"""The command line as a whole: help, exit codes, one line for every error."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from opencode_tui import __version__
from opencode_tui.cli.errors import report_error
from opencode_tui.cli.main import PROGRAM, commands, run_command_line
from opencode_tui.schema.error import BusyError, ConfigError, ModelNotFoundError, NoSuchMessageError, NotFoundError
from opencode_tui.storage.paths import find_paths
from opencode_tui.text.safe_text import make_safe
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.world.cli import PACKAGE_ROOT, CommandLine
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def line(tmp_path: Path, environ: dict[str, str]) -> CommandLine:
    """The command in an empty folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return CommandLine(folder, environ)


def test_version_is_one_line(line: CommandLine) -> None:
    done = line.run("--version")
    assert (done.code, done.stdout, done.stderr) == (0, f"opencode-tui {__version__}\n", "")


def test_help_names_every_command_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["--help"]) == 0
    text = capsys.readouterr().out
    for word in (
        "Run:",
        "Sessions:",
        "Setup:",
        "Diagnostics:",
        "run ",
        "session ",
        "auth ",
        "trust ",
        "doctor ",
        "Examples:",
    ):
        assert word in text


def all_commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{path} {name}")


def test_every_command_has_a_short_help_under_45_characters() -> None:
    summaries = {path: command.short_help or "" for path, command in all_commands(commands, PROGRAM)}
    assert len(summaries) > 40
    assert {path: text for path, text in summaries.items() if not 0 < len(text) < 45} == {}


def test_every_help_fits_a_terminal_of_80_columns() -> None:
    wide: dict[str, list[str]] = {}
    for path, command in all_commands(commands, PROGRAM):
        context = click.Context(command, info_name=path, terminal_width=80)
        wide[path] = [line for line in command.get_help(context).splitlines() if len(line) > 80]
    assert len(wide) > 40
    assert {path: lines for path, lines in wide.items() if lines} == {}


def test_the_product_has_one_name_in_every_help() -> None:
    helps = {path: command.get_help(click.Context(command)) for path, command in all_commands(commands, PROGRAM)}
    assert len(helps) > 40
    assert [path for path, text in helps.items() if "opencode_tui" in text and not path.endswith(" plugin")] == []


@pytest.mark.parametrize("path", ["agent", "auth", "config", "debug", "mcp", "permission", "session", "snapshot"])
def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert run_command_line([path]) == 2
    shown, group = capsys.readouterr(), commands.get_command(click.Context(commands), path)
    assert isinstance(group, click.Group)
    assert shown.err.startswith(f"Usage: {PROGRAM} {path} [OPTIONS] COMMAND") and shown.out == ""
    names = group.list_commands(click.Context(group))
    assert names != []
    assert all(f"\n  {name} " in shown.err for name in names)


def test_the_choices_of_a_missing_argument_are_on_the_line_of_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["completion"]) == 2
    missing = "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"
    assert capsys.readouterr().err == f"opencode-tui: {missing}; see `opencode-tui completion --help`\n"


@pytest.mark.parametrize("arguments", [[], ["-c"], ["."], ["--log-level", "debug", ".", "--agent", "build"]])
def test_without_a_command_and_a_terminal_one_line_says_that_the_tui_needs_one(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run_command_line(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "the TUI needs a terminal" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sesion"], "no command 'sesion', did you mean 'session'?"),
        (["debug", "path"], "did you mean 'paths'?"),
        (["--nope"], "--nope"),
        (["completion", "tcsh"], "tcsh"),
        (["trust", "--nope"], "see `opencode-tui trust --help`"),
        (["x\x1b[2J\n"], r"\x1b[2J"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run_command_line(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert err.startswith("opencode-tui: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["session", "list", "-n", "x"], "--max-count must be a whole number of at least 1, not 'x'"),
        (["session", "list", "-n", "0"], "--max-count must be a whole number of at least 1, not 0"),
        (["serve", "--port", "http"], "--port must be a whole number from 0 to 65535, not 'http'"),
        (["serve", "--port", "70000"], "--port must be a whole number from 0 to 65535, not 70000"),
        (["batch", "run", "--max-cost", "0", "x"], "--max-cost must be a number greater than 0, not 0.0"),
        (["batch", "run", "--max-cost", "much", "x"], "--max-cost must be a number greater than 0, not 'much'"),
    ],
)
def test_a_wrong_number_names_its_option_and_the_accepted_range(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run_command_line(arguments) == 2
    command = " ".join(arguments[: 1 if arguments[0] == "serve" else 2])
    assert capsys.readouterr().err == f"opencode-tui: {words}; see `opencode-tui {command} --help`\n"


def test_every_option_with_a_number_explains_a_wrong_one(
    capsys: pytest.CaptureFixture[str], environ: dict[str, str]
) -> None:
    found: list[str] = []
    for path, command in all_commands(commands, PROGRAM):
        context = click.Context(command, info_name=path)
        for param in command.params:
            if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType):
                with pytest.raises(click.BadParameter) as caught:
                    param.type_cast_value(context, "much")
                assert report_error(caught.value, environ, is_debugging=False) == 2
                found.append(capsys.readouterr().err.partition("; see")[0])
    assert len(found) > 10
    pattern = r"opencode-tui: --[a-z-]+ must be a (whole )?number( of at least| from| greater than) .*, not 'much'"
    assert [one for one in found if re.fullmatch(pattern, one) is None] == []


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ConfigError("opencode.json: no"), 2, "opencode.json: no"),
        (NotFoundError("no session x"), 2, "no session x"),
        (NoSuchMessageError("session x has no message y"), 2, "session x has no message y"),
        (ModelNotFoundError("p", "m", []), 2, str(ModelNotFoundError("p", "m", []))),
        (BusyError("session x is in use"), 1, "session x is in use"),
        (ExceptionGroup("g", [ExceptionGroup("h", [NotFoundError("deep")])]), 2, "deep"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
    ],
)
def test_each_error_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], environ: dict[str, str], error: BaseException, code: int, words: str
) -> None:
    assert report_error(error, environ, is_debugging=False) == code
    assert capsys.readouterr().err == f"opencode-tui: {words}\n"


def test_an_unexpected_error_leaves_its_traceback_in_a_private_file(
    capsys: pytest.CaptureFixture[str], environ: dict[str, str]
) -> None:
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("first\nsecond")
    assert report_error(caught.value, environ, is_debugging=False) == 1
    reported = capsys.readouterr().err
    log = Path(reported.strip().rsplit(" ", 1)[1])
    assert reported == f"opencode-tui: RuntimeError: first; details in {log}\n"
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_traceback_is_shown_when_debugging(capsys: pytest.CaptureFixture[str], environ: dict[str, str]) -> None:
    report_error(RuntimeError("x"), environ, is_debugging=True)
    assert "RuntimeError: x" in capsys.readouterr().err


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_traceback_controls_the_terminal(
    capsys: pytest.CaptureFixture[str], environ: dict[str, str], hostile: str
) -> None:
    report_error(RuntimeError(f"bad {hostile}"), environ, is_debugging=True)
    reported = capsys.readouterr().err
    assert "bad" in reported
    assert steering(reported) == []
    [log] = find_paths(environ).log.glob("error-*.log")
    assert "bad" in log.read_text()
    assert steering(log.read_text()) == []


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_quietly(line: CommandLine) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "opencode_tui", "config", "schema"],
        cwd=line.folder,
        env=line.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert (process.wait(PATIENCE_S), process.stderr.read() if process.stderr else b"") == (0, b"")
    if process.stderr:
        process.stderr.close()


@pytest.mark.slow
def test_a_deleted_folder_is_one_line(line: CommandLine) -> None:
    script = 'rmdir "$PWD" && exec "$0" -m opencode_tui debug config'
    done = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable], cwd=line.folder, env=line.variables(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "opencode-tui: the current directory no longer exists; change to another one\n"


@pytest.mark.slow
def test_a_home_that_is_no_folder_is_one_line(tmp_path: Path, line: CommandLine) -> None:
    (tmp_path / "file").write_text("x")
    environ = {name: value for name, value in line.environ.items() if not name.startswith("XDG_")}
    done = CommandLine(line.folder, {**environ, "HOME": str(tmp_path / "file" / "home")}).run("debug", "config")
    assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "HOME" in done.stderr


@pytest.mark.slow
def test_nothing_is_imported_from_the_current_folder(line: CommandLine) -> None:
    for name in ("click", "pydantic", "json", "logging", "yaml", "signal", "enum", "asyncio", "typing"):
        (line.folder / f"{name}.py").write_text("open('ran', 'w')\n")
    (line.folder / ".opencode" / "agent").mkdir(parents=True)
    (line.folder / ".opencode" / "agent" / "a.md").write_text("---\ndescription: d\n---\np")
    done = subprocess.run(
        [sys.executable, "-m", "opencode_tui", "debug", "config"],
        cwd=line.folder,
        env={**line.environ, "PYTHONPATH": str(PACKAGE_ROOT)},
        capture_output=True,
    )
    assert (done.returncode, (line.folder / "ran").exists()) == (0, False)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert run_command_line(["completion", shell]) == 0
    assert "_OPENCODE_TUI_COMPLETE" in capsys.readouterr().out


def test_completion_starts_no_bash_of_path(line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "bash").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "bash").chmod(0o755)
    environ = {**line.environ, "PATH": f"{tmp_path}{os.pathsep}{line.environ['PATH']}"}
    done = CommandLine(line.folder, environ).run("completion", "bash")
    assert "complete" in done.stdout and done.stderr == ""
    assert not (tmp_path / "started").exists()


def test_completion_lists_the_commands(line: CommandLine) -> None:
    asking = {"_OPENCODE_TUI_COMPLETE": "bash_complete", "COMP_WORDS": "opencode-tui sta", "COMP_CWORD": "1"}
    done = CommandLine(line.folder, {**line.environ, **asking}).run()
    assert done.stdout.split() == ["plain,stats"]


@pytest.mark.slow
def test_paths_are_absolute_and_a_relative_xdg_folder_is_passed_by(line: CommandLine) -> None:
    import json

    done = CommandLine(line.folder, {**line.environ, "XDG_DATA_HOME": "rel"}).run("debug", "paths")
    found = json.loads(done.stdout)
    assert {"config", "data", "state", "cache", "snapshot", "auth", "trust"} <= set(found)
    assert all(os.path.isabs(path) for path in found.values())
    assert found["data"] == f"{line.environ['HOME']}/.local/share/opencode-tui"
    assert list(line.folder.iterdir()) == []


@pytest.mark.slow
def test_closed_streams_are_no_traceback(line: CommandLine) -> None:
    script = '"$0" -m opencode_tui auth login openai <&- ; "$0" -m opencode_tui config path >&- ; "$0" -m opencode_tui nope 2>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable], cwd=line.folder, env=line.variables(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "no key given" in done.stderr


@pytest.mark.slow
def test_a_character_that_the_terminal_cannot_show_is_its_code(line: CommandLine) -> None:
    environ = {**line.environ, "PYTHONIOENCODING": "latin-1", "OPENCODE_CONFIG_CONTENT": '{"username": "☃"}'}
    assert r'"\u2603"' in CommandLine(line.folder, environ).run("config", "show").stdout


def test_text_for_the_terminal_is_safe() -> None:
    assert make_safe("a\x1b[2J\u202eb\x9b\nc") == r"a\x1b[2J\u202eb\x9b\x0ac"
    assert make_safe("a\n\tb\r", multiline=True) == "a\n\tb\\x0d"
