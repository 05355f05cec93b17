"""Values of options and arguments that the shell completes: `shell_complete` of models, agents and sessions.

They are read without an engine (`client/names.py`). Where they cannot be read there is nothing to complete: the command itself
reports why.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from opencode_tui.schema.error import OpencodeError

if TYPE_CHECKING:
    from opencode_tui.client.names import FolderNames

T = TypeVar("T")


def complete_models(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the models that begin so, as `provider/model`, or whose own name begins so."""

    def matches(name: str) -> bool:
        return name.startswith(begun) or ("/" not in begun and name.partition("/")[2].startswith(begun))

    return [CompletionItem(name) for name in _read(context, lambda names: names.models()) if matches(name)]


def complete_agents(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the agents that begin so, with what they are for."""
    return _described(_read(context, lambda names: names.agents()), begun)


def complete_sessions(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the IDs of sessions of the project that begin so, with their titles; the ones used last."""
    return _described(_read(context, lambda names: names.sessions()), begun)


def _described(found: Sequence[tuple[str, str]], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=" ".join(text.split())) for name, text in found if name.startswith(begun)]


def _read(context: click.Context, read: "Callable[[FolderNames], Sequence[T]]") -> Sequence[T]:
    """Return the names of the folder that the command line names, else of the current one."""
    from opencode_tui.cli.environment import read_environment
    from opencode_tui.client.names import FolderNames

    if context.params.get("attach"):
        return ()  # those of a server
    named = cast("object", context.params.get("folder"))
    try:
        here = read_environment()
        folder = Path(os.path.abspath(os.path.expanduser(named))) if isinstance(named, str) else here.directory
        return read(FolderNames(folder, paths=here.paths, flags=here.flags, environ=here.environ))
    except (OpencodeError, OSError):
        return ()
