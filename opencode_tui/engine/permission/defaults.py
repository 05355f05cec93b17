"""The default rules: allow everything except access outside the folder, reading secrets, and repeated identical calls.

Source: docs/internals/permissions.md#default-rules.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.permission.ruleset import BuiltInRule
from opencode_tui.schema.permission import Action, Rule
from opencode_tui.schema.tools import OLD_TOOLS, TOOLS


class PermissionFolders(Struct, frozen=True):
    """Absolute folders that the default rules mention: the user's home, this worktree's full tool outputs, skills."""

    home: Path
    tool_output: Path
    skills: Sequence[Path] = ()


def rule(permission: str, pattern: str, action: Action) -> BuiltInRule:
    """Return one rule."""
    return BuiltInRule.trusted(permission=permission, pattern=pattern, action=action)


def reading_rules() -> list[Rule]:
    """Return the rules for reading: allow all files, ask for files with secrets."""
    return [
        rule("read", "*", "allow"),
        rule("read", "*.env", "ask"),
        rule("read", "*.env.*", "ask"),
        rule("read", "*.env.example", "allow"),
    ]


def tool_output_pattern(folders: PermissionFolders) -> str:
    """Return the pattern for the folder of the full texts of truncated outputs."""
    return f"{folders.tool_output}/*"


def default_rules(folders: PermissionFolders) -> list[Rule]:
    """Return the default rules of every agent, weakest first."""
    return [
        rule("*", "*", "allow"),
        rule("doom_loop", "*", "ask"),
        rule("external_directory", "*", "ask"),
        rule("external_directory", tool_output_pattern(folders), "allow"),
        *(rule("external_directory", f"{folder}/*", "allow") for folder in folders.skills),
        *(rule(row.name, "*", "deny") for row in (*TOOLS, *OLD_TOOLS) if row.only_for),
        *reading_rules(),
    ]
