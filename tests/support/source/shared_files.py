"""Writes `packaging/share/`, which a wheel installs beside the program: `python -m tests.support.source.shared_files`.

It holds the manual page and the completion scripts. Both are derived from the commands; the build only copies them, because
importing the commands needs all dependencies. man, bash-completion, zsh and fish look in these folders below a prefix.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from opencode_tui.cli.commands.completion import completion_script
from opencode_tui.cli.lazy_group import LazyGroup
from opencode_tui.cli.main import PROGRAM, commands

SHARE = Path(__file__).resolve().parents[3] / "packaging" / "share"

MANUAL = f"man/man1/{PROGRAM}.1"

COMPLETIONS = {
    "bash": f"bash-completion/completions/{PROGRAM}",
    "zsh": f"zsh/site-functions/_{PROGRAM}",
    "fish": f"fish/vendor_completions.d/{PROGRAM}.fish",
}

WRITTEN = (
    "opencode-tui/ci/github-review.yml",
    "opencode-tui/ci/gitlab-review.yml",
    "opencode-tui/harbor/opencode_tui_agent.py",
)
"""The files below `packaging/share/` that are not derived: people write them."""

_SUMMARY = "a coding agent for the terminal"

_FILES = (
    (
        "~/.config/opencode-tui/opencode.jsonc",
        "Your settings; `opencode-tui config path` lists all files that are read.",
    ),
    ("~/.config/opencode-tui/", "Your agents, commands, skills, plugins and themes, a folder for each kind."),
    ("~/.local/share/opencode-tui/storage/", "Sessions, messages and parts, one JSON file each."),
    ("~/.local/share/opencode-tui/auth.json", "API keys, readable by you only."),
    ("~/.local/share/opencode-tui/log/", "Logs."),
)

_ENVIRONMENT = (
    ("OPENCODE_CONFIG", "A settings file that is read after your own."),
    ("OPENCODE_CONFIG_DIR", "A further folder with settings, agents, commands and plugins."),
    ("OPENCODE_CONFIG_CONTENT", "Settings as JSON, which override the files."),
    ("OPENCODE_SERVER_PASSWORD", "The password of `serve`, and of `attach` and `run --attach`."),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY, …", "Keys of providers, under the names that the providers use."),
)

_EXIT_CODES = (("0", "Success."), ("1", "Failure."), ("2", "Bad arguments or settings."), ("130", "Interrupted."))


def derive() -> dict[str, str]:
    """Return the content of each file below `packaging/share/`, by its path there."""
    return {MANUAL: manual(), **{path: f"{completion_script(shell)}\n" for shell, path in COMPLETIONS.items()}}


def manual() -> str:
    """Return the manual page in the macros of man(7). It names no version, so that only `opencode_tui/__init__.py` does."""
    context = click.Context(commands, info_name=PROGRAM, help_option_names=["-h", "--help"])
    return "\n".join(
        (
            f'.TH {_escape(PROGRAM.upper())} 1 "" {_escape(PROGRAM)} "User Commands"',
            ".SH NAME",
            f"{_escape(PROGRAM)} \\- {_SUMMARY}",
            ".SH SYNOPSIS",
            *_usage(context),
            ".SH DESCRIPTION",
            *_text(commands.help or ""),
            ".SH OPTIONS",
            *_options(context),
            *_sections(context),
            ".SH FILES",
            *_definitions(_FILES),
            ".SH ENVIRONMENT",
            *_definitions(_ENVIRONMENT),
            ".SH EXIT STATUS",
            *_definitions(_EXIT_CODES),
            *_text(commands.epilog or ""),
            "",
        )
    )


def _sections(context: click.Context) -> Iterator[str]:
    """Yield a section for each of the help's, with its commands and all that are below them."""
    group = context.command
    assert isinstance(group, LazyGroup)
    for title, entries in group.sections.items():
        yield f".SH {_escape(title.upper())} COMMANDS"
        for name in entries:
            yield from _command(group, name, context)


def _command(group: click.Group, name: str, parent: click.Context) -> Iterator[str]:
    command = group.get_command(parent, name)
    assert command is not None, f"{group.name} has no {name}"
    if command.hidden:
        return
    context = click.Context(command, parent=parent, info_name=name)
    path = context.command_path.removeprefix(f"{PROGRAM} ")
    yield f".SS {_escape(path)}"
    yield from _usage(context)
    yield from _text(command.help or "")
    yield from _options(context, leave_out="--help")
    yield from _text(command.epilog or "")
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(command, below, context)


def _usage(context: click.Context) -> Iterator[str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    yield f"\\fB{_escape(context.command_path)}\\fR {_escape(pieces)}".rstrip()


def _options(context: click.Context, leave_out: str = "") -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1] and (not leave_out or leave_out not in parameter.opts):
            yield from _definitions((record,))


def _definitions(pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for term, text in pairs:
        yield from (".TP", f"\\fB{_escape(term)}\\fR", *_lines(text))


def _text(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text; one that starts with `\b` keeps its lines."""
    for paragraph in inspect.cleandoc(text.partition("\f")[0]).split("\n\n"):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        if lines and lines[0].strip() == "\b":
            yield from (".PP", ".nf", *(_protect(_escape(line)) for line in lines[1:]), ".fi")
        elif lines:
            yield from (".PP", *_lines(" ".join(line.strip() for line in lines)))


def _lines(text: str) -> Iterator[str]:
    """Yield one line of text, with what is in backquotes in bold."""
    escaped = _escape(text)
    yield _protect(re.sub(r"\\\(ga(.+?)\\\(ga", r"\\fB\1\\fR", escaped))


def _protect(line: str) -> str:
    """Return a line that man does not read as a request."""
    return f"\\&{line}" if line.startswith((".", "'")) else line


_SIGNS = {"\\": "\\e", "-": "\\-", "`": "\\(ga", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq"}


def _escape(text: str) -> str:
    """Return text whose signs man shows as they are, instead of as typographic ones."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def main() -> None:
    """Write all derived files, and delete what is no longer one."""
    wanted = derive()
    for path in [path for path in SHARE.rglob("*") if path.is_file()]:
        if path.relative_to(SHARE).as_posix() not in (*wanted, *WRITTEN):
            path.unlink()
    for name, text in wanted.items():
        path = SHARE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
