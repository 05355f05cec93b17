"""The built-in slash commands: names of actions that also have keys."""

from collections.abc import Container, Mapping, Sequence

from opencode_tui.schema.api.keybinds import ACTIONS

SLASH: Mapping[str, str] = {name: action.id for action in ACTIONS for name in action.slash.split()}
"""Action ids by name."""

SUGGESTED_FIRST = (
    *("new", "sessions", "search", "undo", "redo", "fork", "compact", "timeline"),
    *("context", "diff", "copy", "code"),
)
"""The names that are suggested before others that match as well."""


def completion_names(typed: str = "") -> Mapping[str, str]:
    """Return the names that completion suggests, one per action, with its id.

    That is the first name of an action, unless only another one starts with what was typed: `clear` for `cl`.
    """
    names = {_suggested(action.slash.split(), typed): action.id for action in ACTIONS if action.slash}
    return {**{name: names[name] for name in SUGGESTED_FIRST if name in names}, **names}


def _suggested(names: Sequence[str], typed: str) -> str:
    return next((name for name in names if name.startswith(typed.casefold())), names[0])


def parse(text: str, known: Container[str] = ()) -> tuple[str, str] | None:
    """Return the name and the arguments of a command; None for any other text, such as the path `/usr/bin`.

    Only a `known` name may have slashes, as those of commands in subfolders have.
    """
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    name, newline, more = name.partition("\n")
    if not name or ("/" in name and name not in known):
        return None
    return name, (more + " " + rest if newline else rest).strip()
