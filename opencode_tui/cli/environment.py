"""The environment of a command: variables, paths, flags, the current folder and its settings."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.cli.errors import FOLDER_IS_GONE
from opencode_tui.cli.terminal import say
from opencode_tui.config.flags import Flags, read_flags
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.paths import Paths, find_paths

if TYPE_CHECKING:
    from opencode_tui.config.load import LoadedConfig


class Environment(Struct, frozen=True):
    """The environment of one command; `directory` is absolute, with links resolved by the system."""

    environ: Mapping[str, str]
    paths: Paths
    flags: Flags
    directory: Path


def read_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """Return the environment of this process. Raises ConfigError if it is invalid, OpencodeError without a current folder."""
    variables = os.environ if environ is None else environ
    return Environment(variables, find_paths(variables), read_flags(variables), _current_directory())


def find_log_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of log files, which may not exist yet. Raises ConfigError if it cannot be determined."""
    return find_paths(environ).log


def _current_directory() -> Path:
    try:
        return Path(os.getcwd())
    except OSError:
        raise OpencodeError(FOLDER_IS_GONE) from None


def load_settings(environment: Environment, *, is_check: bool = False) -> "LoadedConfig":
    """Return the settings of the folder; raises ConfigError. The caller reports the warnings (`report_notices`).

    For a check, what is wrong in the settings files of a trusted folder is an error, too.
    """
    from opencode_tui.config.load import load_config  # slow: not for the help

    return load_config(
        paths=environment.paths,
        flags=environment.flags,
        directory=environment.directory,
        environ=environment.environ,
        is_check=is_check,
    )


def report_notices(loaded: "LoadedConfig") -> None:
    """Write warnings about the settings, and keys without effect, to stderr; a file that has several of them is named once."""
    notices = (*loaded.warnings, *loaded.ignored)
    say_warnings([(one.source, str(one)) for one in notices])


def say_warnings(placed: "Sequence[tuple[str, str]]") -> None:
    """Write warnings with their sources to stderr, those of a file below its name."""
    if placed:
        from opencode_tui.text.notices import warning_lines  # few folders have any

        for line in warning_lines(placed, os.path.expanduser("~")):
            say(line, is_below=line.startswith(" "))
