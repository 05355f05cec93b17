"""Protected files: what is written to them can run later without a question. Pure: judged by the path alone.

Protected are git's own files and those of other version control, hooks and their tools, start files of shells, editors, debuggers
and interpreters, and configuration of editors, of this and of other agents that can start programs. Rules files (AGENTS.md,
CLAUDE.md) and build files (Makefile, package.json, .cargo/config.toml) are not: who builds runs the project's code anyway. Names
are compared as case-insensitive file systems do. What only the file system knows (bare repositories, which of the files exist) is
in `protected_files.py`. Source: docs/internals/permissions.md#protected-files.
"""

import re
from collections.abc import Collection

from opencode_tui.config.sources.project_file import fold, is_secret

__all__ = ["is_protected", "is_secret"]

_AGENT = (
    r"\.(?:augment|cline|clinerules|codebuddy|copilot|crush|cursor|droid|factory|goose|grok|iflow|junie|kilocode|openhands|pi|qoder|roo"
    r"|rovodev|trae|vibe|warp|windsurf)"
)
"""Folders of settings of other agents, whose hooks, extensions and servers are programs."""

_FOLDERS = (
    r"\.git",
    r"\.githooks",
    r"\.husky",
    r"\.opencode",
    r"\.config/(?:opencode-tui|opencode|fish|git|direnv|autostart|systemd|environment\.d|mise|nvim|helix|nushell|xonsh|elvish)",
    r"\.local/(?:share|state)/opencode-tui",
    r"Library/LaunchAgents",
    r"\.ssh",
    r"\.codex",
    r"\.continue",
    r"\.kiro",
    r"\.amazonq",
    r"\.idea",
    r"\.claude/(?:hooks|plugins|commands)",
    r"\.(?:gemini|qwen)/(?:extensions|commands)",
    r"\.(?:cursor|factory|openhands)/commands",
    rf"{_AGENT}/(?:hooks|extensions|plugins?|droids|tools)",
    r"\.github/hooks",
    r"\.devcontainer",
    r"\.lefthook(?:-local)?",
    r"\.(?:git-hooks|overcommit)",
    r"\.yarn/(?:releases|plugins)",
    r"\.mise",
    r"\.shadowenv\.d",
    r"\.(?:vim|nvim|helix|emacs\.d|ipython|jupyter|fleet|run)",
)
"""Folders that are protected with all of their content."""

_FILES = (
    r"\.(?:envrc|direnvrc)",
    r"\.(?:bash|zsh|k|mksh|c|tcsh|sh)rc",
    r"\.bash_(?:profile|login|logout|aliases)",
    r"\.z(?:shenv|profile|login|logout)",
    r"\.(?:profile|login|logout|xprofile|xsession|xsessionrc|xinitrc|pam_environment|gitconfig)",
    r"opencode\.jsonc?",
    r"\.mcp\.json",
    r"\.claude\.json",
    r"\.claude/settings[^/]*\.json",
    r"\.(?:vscode|junie/mcp)/mcp\.json",
    rf"{_AGENT}/(?:\.?mcp[^/]*|hooks|cli|permissions|environment|settings[^/]*|config|agent)\.(?:json|ya?ml|toml)",
    r"\.vscode/(?:tasks|settings|launch)\.json",
    r"[^/]*\.code-workspace",
    r"\.zed/(?:tasks|settings|debug)\.json",
    r"\.(?:gemini|qwen)/settings\.json",
    r"\.aider\.conf\.ya?ml",
    r"\.?crush\.json",
    r"\.amp/settings\.json",
    r"\.openhands/(?:setup|pre-commit)\.sh",
    r"\.hg/(?:hgrc|hgrc-not-shared|sharedpath)",
    r"\.jj/(?:repo/config|workspace-config)\.toml",
    r"\.bzr/branch/branch\.conf",
    r"\.p4config",
    r"(?:\.pre-commit-config|\.overcommit|grumphp)\.ya?ml|prek\.toml|hk\.pkl|\.?captainhook\.json",
    r"(?:\.config/)?\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)",
    r"\.?(?:huskyrc|simple-git-hooks|lintstagedrc|lint-staged\.config)(?:\.(?:json|ya?ml|[cm]?[jt]s))?",
    r"\.yarnrc(?:\.yml)?|\.npmrc|\.pnpmfile\.[cm]?js",
    r"\.?mise(?:\.[^/]+)?\.toml|(?:\.config/)?mise/config(?:\.[^/]+)?\.toml|\.config/mise(?:\.[^/]+)?\.toml|\.rtx\.toml|\.tool-versions",
    r"\.autoenv(?:_leave)?(?:\.zsh)?|\.rvmrc",
    r"\.devcontainer\.json",
    r"\.vs/(?:tasks|launch)\.vs\.json|[^/]+\.sublime-project|\.kateproject|\.neoconf\.json|\.ycm_extra_conf\.py",
    r"[._]?g?vimrc|\.l(?:ocal\.)?vimrc|\.exrc|\.nvim\.lua|\.nvimrc|\.lazy\.lua|\.dir-locals(?:-2)?\.el|\.emacs",
    r"\.pdbrc(?:\.py)?|\.gdb(?:early)?init|\.lldbinit(?:-[^/]+)?|\.perldb|\.radare2rc",
    r"\.(?:irbrc|pryrc|rprofile|renviron|octaverc|ghci|ocamlinit|iex\.exs|psqlrc|sqliterc|mongo(?:sh)?rc\.js|pythonrc|pythonrc\.py)",
    r"(?:ipython|jupyter(?:_[a-z]+)?)_config\.(?:py|json)",
    r"\.(?:curlrc|wgetrc|screenrc|tmux\.conf)",
)

_PROTECTED = re.compile(
    rf"(?:.*/)?(?:(?:{'|'.join(_FOLDERS)})(?:/.*)?|(?:{'|'.join(_FILES)}))", re.DOTALL | re.IGNORECASE
)
_WITHOUT_DOT = re.compile(r"launchagents|vimrc|huskyrc|lintstagedrc|simple-git-hooks")
"""What names without a dot contain to be protected; nearly all have none, and need no closer look."""
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
    if "." not in name and _WITHOUT_DOT.search(name) is None:
        return False
    plan = _PLANS.fullmatch(name)
    if plan is not None:
        name = plan["before"]
    return _PROTECTED.fullmatch(name) is not None


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
