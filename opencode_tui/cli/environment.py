"""What every command starts from: the folders, flags and variables of the person, the folder that is worked in, its settings."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.cli.terminal import say
from opencode_tui.config.flags import Flags, read_flags
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.paths import Paths, find_paths

if TYPE_CHECKING:
    from opencode_tui.config.load import LoadedConfig


class Environment(Struct, frozen=True):
    """The outside of one command; `directory` is absolute, links resolved by the system."""

    environ: Mapping[str, str]
    paths: Paths
    flags: Flags
    directory: Path


def read_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """Return the environment of this process; raises ConfigError for one that cannot be used, OpencodeError without a folder."""
    variables = os.environ if environ is None else environ
    return Environment(variables, find_paths(variables), read_flags(variables), _current_directory())


def _current_directory() -> Path:
    try:
        return Path(os.getcwd())
    except OSError:
        raise OpencodeError("the current directory does not exist any more; change to one that does") from None


def load_settings(environment: Environment) -> "LoadedConfig":
    """Return the settings of the folder; raises ConfigError. Warnings are the caller's to tell (`report_notices`)."""
    from opencode_tui.config.load import load_config  # pydantic: not for the help

    return load_config(
        paths=environment.paths,
        flags=environment.flags,
        directory=environment.directory,
        environ=environment.environ,
    )


def report_notices(loaded: "LoadedConfig") -> None:
    """Say on stderr, one line each, what is strange in the settings and what has no effect."""
    for notice in (*loaded.warnings, *loaded.ignored):
        say(str(notice))
