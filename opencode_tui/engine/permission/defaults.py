"""The rules that hold before any settings: everything may run, except what leaves the folder, reads secrets or goes in circles.

Source: reference, section 26, rules D.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.permission import Action, Rule


class PermissionFolders(Struct, frozen=True):
    """Absolute folders that the built-in rules speak of: the person's home, cut tool outputs, the skills."""

    home: Path
    tool_output: Path
    skills: Sequence[Path] = ()


def rule(permission: str, pattern: str, action: Action) -> Rule:
    """Return one rule."""
    return Rule(permission=permission, pattern=pattern, action=action)


def reading_rules() -> list[Rule]:
    """Return the rules for reading: all files, but files of secrets only after asking."""
    return [
        rule("read", "*", "allow"),
        rule("read", "*.env", "ask"),
        rule("read", "*.env.*", "ask"),
        rule("read", "*.env.example", "allow"),
    ]


def tool_output_pattern(folders: PermissionFolders) -> str:
    """Return the pattern of the folder in which the full texts of cut outputs lie."""
    return f"{folders.tool_output}/*"


def default_rules(folders: PermissionFolders) -> list[Rule]:
    """Return the rules under those of every agent, weakest first."""
    return [
        rule("*", "*", "allow"),
        rule("doom_loop", "*", "ask"),
        rule("external_directory", "*", "ask"),
        rule("external_directory", tool_output_pattern(folders), "allow"),
        *(rule("external_directory", f"{folder}/*", "allow") for folder in folders.skills),
        rule("question", "*", "deny"),
        rule("plan_enter", "*", "deny"),
        rule("plan_exit", "*", "deny"),
        *reading_rules(),
    ]
