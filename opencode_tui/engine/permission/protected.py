"""Protected files: what is written to them can run later without a question. Pure: judged by the path alone.

Protected are git's own files, hooks, shell start files, and configuration of this and other agents that can start programs. Rules
files (AGENTS.md, CLAUDE.md) and build files are not. Names are compared as case-insensitive file systems do. What only the file
system knows (bare repositories, which of the files exist) is in `protected_files.py`. Source: SPEC, section 6.5.
"""

import re
from collections.abc import Collection

from opencode_tui.config.sources.project_file import fold, is_secret

__all__ = ["is_protected", "is_secret"]

_FOLDERS = (
    r"\.git",
    r"\.githooks",
    r"\.husky",
    r"\.opencode",
    r"\.config/(?:opencode-tui|opencode|fish|git|direnv|autostart|systemd|environment\.d)",
    r"\.local/(?:share|state)/opencode-tui",
    r"Library/LaunchAgents",
    r"\.ssh",
    r"\.codex",
    r"\.continue",
    r"\.kiro",
    r"\.amazonq",
    r"\.idea",
    r"\.claude/(?:hooks|plugins)",
    r"\.(?:gemini|qwen)/(?:extensions|commands)",
)
"""Folders that are protected with all of their content."""

_FILES = (
    r"\.envrc",
    r"\.(?:bash|zsh|k|mksh|c|tcsh|sh)rc",
    r"\.bash_(?:profile|login|logout|aliases)",
    r"\.z(?:shenv|profile|login|logout)",
    r"\.(?:profile|login|logout|xprofile|xsession|xsessionrc|xinitrc|pam_environment|gitconfig)",
    r"opencode\.jsonc?",
    r"\.mcp\.json",
    r"\.claude\.json",
    r"\.claude/settings[^/]*\.json",
    r"\.(?:cursor|roo|kilocode|vscode|windsurf|junie/mcp)/mcp\.json",
    r"\.cursor/(?:hooks|cli|permissions|environment)\.json",
    r"\.vscode/(?:tasks|settings|launch)\.json",
    r"[^/]*\.code-workspace",
    r"\.zed/(?:tasks|settings|debug)\.json",
    r"\.(?:gemini|qwen)/settings\.json",
    r"\.aider\.conf\.ya?ml",
    r"\.?crush\.json",
    r"\.amp/settings\.json",
)

_PROTECTED = re.compile(
    rf"(?:.*/)?(?:(?:{'|'.join(_FOLDERS)})(?:/.*)?|(?:{'|'.join(_FILES)}))", re.DOTALL | re.IGNORECASE
)
_PLANS = re.compile(r"(?P<before>(?:.*/)?)\.opencode/plans(?:/[^/]+\.md)?", re.DOTALL)


def is_protected(path: str, root: str, folders: Collection[str] = ()) -> bool:
    """Return whether the path is protected; both are absolute with `/`, and normalized.

    Under `root` only the part below it counts, so that a project may itself be in a folder with such a name. `folders` are
    protected with all of their content, also below `root`: our own, and those of skills outside the project.
    """
    if any(_is_below(path, folder) and not _is_below(root, folder) for folder in folders):
        return True
    if path == root:
        return False
    name = fold(path[len(root.rstrip("/")) + 1 :] if _is_below(path, root) else path)
    if "." not in name and "launchagents" not in name:
        return False
    plan = _PLANS.fullmatch(name)
    if plan is not None:
        name = plan["before"]
    return _PROTECTED.fullmatch(name) is not None


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
