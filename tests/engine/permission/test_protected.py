"""Which paths are protected, and which are secrets, by their names."""

import pytest

from opencode_tui.engine.permission.protected import is_protected, is_secret
from tests.support.rows import each

ROOT = "/home/ada/project"

PROTECTED = [
    ".git",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/info/attributes",
    "n/.git/config",
    "n/m/.git",
    ".githooks/pre-push",
    ".husky/pre-commit",
    "web/.husky/_/husky.sh",
    ".envrc",
    "sub/.envrc",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".zshenv",
    "dotfiles/.bash_profile",
    ".config/fish/config.fish",
    ".gitconfig",
    ".ssh/authorized_keys",
    "opencode.json",
    "opencode.jsonc",
    "sub/opencode.json",
    ".opencode/plugin/evil.py",
    ".opencode/skills/s/run.sh",
    ".opencode/plans/run.sh",
    ".opencode/plans/deep/x.md",
    ".config/opencode-tui/skills/s/SKILL.md",
    ".local/state/opencode-tui/trust.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/check.sh",
    ".mcp.json",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    "a.code-workspace",
    ".gemini/settings.json",
    ".idea/workspace.xml",
    ".hg/hgrc",
    "sub/.hg/hgrc",
    ".jj/repo/config.toml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook-local.toml",
    ".config/lefthook.yaml",
    ".lefthook/pre-commit/check.sh",
    ".lintstagedrc.json",
    "lint-staged.config.mjs",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.0.0.cjs",
    ".npmrc",
    "web/.pnpmfile.cjs",
    ".mise.toml",
    "mise.toml",
    "mise.local.toml",
    ".mise/tasks/build",
    ".config/mise/config.toml",
    ".tool-versions",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".claude/commands/x.md",
    ".pdbrc",
    ".gdbinit",
    ".lldbinit",
    ".irbrc",
    ".Rprofile",
    ".exrc",
    ".vimrc",
    ".nvim.lua",
    ".vim/plugin/x.vim",
    ".dir-locals.el",
    ".ipython/profile_default/startup/x.py",
    "jupyter_server_config.py",
    "a.sublime-project",
    ".run/x.run.xml",
    ".github/hooks/x.json",
    "lint-staged.config.js",
    "lint-staged.config.cjs",
    "lint-staged.config.ts",
    "lintstagedrc",
    "lintstagedrc.js",
    "simple-git-hooks",
    "simple-git-hooks.js",
    "simple-git-hooks.json",
    "huskyrc",
    "huskyrc.js",
    "captainhook.json",
    "grumphp.yml",
    "prek.toml",
    "hk.pkl",
    "crush.json",
    "_vimrc",
    "_gvimrc",
    "gvimrc",
    "sub/mise/config.toml",
    "jupyter_config.json",
    "ipython_config.py",
    "Library/LaunchAgents/x.plist",
    ".direnvrc",
    ".clinerules/hooks/PreToolUse",
    ".cline/hooks/x",
    ".copilot/mcp-config.json",
    ".trae/mcp.json",
    ".codebuddy/settings.json",
    ".qoder/settings.json",
    ".pi/settings.json",
    ".pi/extensions/x.ts",
    ".augment/settings.local.json",
    ".factory/mcp.json",
    ".factory/settings.json",
    ".factory/droids/x.md",
    ".windsurf/mcp_config.json",
    ".windsurf/hooks.json",
    ".goose/config.yaml",
    ".cursor/hooks.json",
    ".cursor/cli.json",
    ".cursor/environment.json",
    ".junie/mcp/mcp.json",
]

ORDINARY = [
    "",
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    ".claude/skills/s/SKILL.md",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".github/workflows/ci.yml",
    "git/config",
    "x.git.md",
    ".gitx/config",
    "config",
    "package.json",
    "Makefile",
    ".pre-commit-hooks.yaml",
    "pyproject.toml",
    ".cargo/config.toml",
    ".hg/dirstate",
    ".hg/store/data/a.i",
    ".jj/repo/op_heads/heads/x",
    ".yarn/cache/x.zip",
    ".yarn/install-state.gz",
    "mise/readme.md",
    "promise.toml",
    "run/x.run.xml",
    "server_config.py",
    "vim/x.vim",
    "docs/vimrc.md",
    ".python-version",
    ".bundle/config",
    ".opencode/plans/plan.md",
    "sub/.opencode/plans/plan.md",
    "src/opencode.json.md",
    ".vscode/extensions.json",
    "bashrc",
    "profile.py",
    ".env",
    "src/a.py",
]


@each("name", PROTECTED)
def test_a_file_that_can_start_programs_later_is_protected(name: str) -> None:
    assert is_protected(f"{ROOT}/{name}", ROOT)


@each("name", ORDINARY)
def test_an_ordinary_file_is_not_protected(name: str) -> None:
    assert not is_protected(f"{ROOT}/{name}".rstrip("/"), ROOT)


@each(
    "name",
    [
        ".GIT/hooks/pre-commit",
        ".Git/config",
        ".g\u200cit/config",
        "GIT~1/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".HUSKY/pre-commit",
        ".hu\u017fky/pre-commit",
        ".EnvRC",
        "OpenCode.json",
        ".BASHRC",
        ".Claude/Settings.json",
    ],
)
def test_another_spelling_that_a_file_system_treats_as_the_same_is_protected(name: str) -> None:
    assert is_protected(f"{ROOT}/{name}", ROOT)


@pytest.mark.parametrize("path", ["/home/ada/.bashrc", "/other/project/.git/config", "/home/ada/.claude/settings.json"])
def test_a_protected_name_outside_the_project_is_protected(path: str) -> None:
    assert is_protected(path, ROOT)


@pytest.mark.parametrize("root", ["/home/ada/.codex/worktrees/x", "/home/ada/.config/opencode", "/data/.git/worktrees"])
def test_the_folders_above_the_project_do_not_count(root: str) -> None:
    assert not is_protected(f"{root}/src/a.py", root)
    assert is_protected(f"{root}/.envrc", root)


def test_the_folders_given_are_protected_with_all_their_content() -> None:
    folders = ["/home/ada/my-skills/s"]
    assert is_protected("/home/ada/my-skills/s/SKILL.md", ROOT, folders)
    assert is_protected("/home/ada/my-skills/s", ROOT, folders)
    assert not is_protected("/home/ada/my-skills/s2/SKILL.md", ROOT, folders)


@pytest.mark.parametrize("name", [".env", "x.env", ".env.local", ".ENV", "Prod.Env", ".env.", ".Env.Local"])
def test_a_file_with_secrets_is_recognized_in_every_spelling(name: str) -> None:
    assert is_secret(f"{ROOT}/{name}")


@pytest.mark.parametrize("name", [".env.example", ".ENV.Example", "env", "environment.py", ".envrc"])
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret(f"{ROOT}/{name}")
