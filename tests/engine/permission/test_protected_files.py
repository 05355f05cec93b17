"""Protected files that only a look at the file system finds."""

from pathlib import Path

import pytest

from opencode_tui.engine.permission.protected_files import find_named_files, find_repository_writes
from opencode_tui.engine.sandbox.changes import ProjectFiles
from tests.support.world.repo import run_git as git


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def listed(root: Path) -> list[str]:
    files = ProjectFiles(root)
    files.refresh()
    return sorted(str(path.relative_to(root)) for path in files.protected())


def test_the_protected_files_of_a_project_are_listed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "init", "-q", "n/m")
    make(tmp_path, ".envrc", ".husky/pre-commit", "sub/.vscode/tasks.json", "AGENTS.md", "src/a.py")
    assert [name for name in listed(tmp_path) if "hooks" not in name and "info" not in name] == [
        ".envrc",
        ".git/config",
        ".husky",
        "n/m/.git/config",
        "sub/.vscode/tasks.json",
    ]
    assert ".git/hooks" in listed(tmp_path)


def test_plans_are_not_among_the_protected_files_of_our_folder(tmp_path: Path) -> None:
    make(tmp_path, ".opencode/plans/a.md", ".opencode/plugin/a.py", ".opencode/opencode.json")
    assert listed(tmp_path) == [".opencode/opencode.json", ".opencode/plugin"]


def test_files_of_installed_packages_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "node_modules/x/.envrc", ".venv/lib/.vscode/tasks.json", ".envrc")
    assert listed(tmp_path) == [".envrc"]


def test_a_bare_repository_and_submodules_are_listed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "init", "-q", "--bare", "evil")
    git(tmp_path, "init", "-q", "--bare", ".git/modules/libs/one")
    found = listed(tmp_path)
    assert "evil/config" in found
    assert ".git/modules/libs/one/config" in found
    assert ".git/modules/libs/one/hooks" in found


@pytest.mark.parametrize(
    ("written", "hooks"),
    [
        ("scripts/hooks", "scripts/hooks"),
        ("./scripts/hooks/", "scripts/hooks"),
        ("{root}/scripts/hooks", "scripts/hooks"),
        (".", None),
        ("..", None),
        ("/usr/share", None),
    ],
)
def test_the_folder_of_hooks_that_the_settings_name_is_listed(tmp_path: Path, written: str, hooks: str | None) -> None:
    git(tmp_path, "init", "-q")
    make(tmp_path, "scripts/hooks/pre-commit")
    git(tmp_path, "config", "core.hooksPath", written.format(root=tmp_path))
    found = list(find_named_files(tmp_path / ".git", tmp_path))
    assert found == ([] if hooks is None else [tmp_path / hooks])
    assert ("scripts/hooks" in listed(tmp_path)) == (hooks is not None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[core]\n\thooksPath = my # ours", ["my"]),
        ("[core] hooksPath = my ; ours", ["my"]),
        ("[CORE]\nHOOKSPATH=my", ["my"]),
        ('[core]\n\thooksPath = m"y"', ["my"]),
        ('[core]\n\thooksPath = "my" ', ["my"]),
        ("[core]\n\thooksPath = \\\nmy", ["my"]),
        ("[core]\nbare\nhooksPath = my\n# hooksPath = x", ["my"]),
        ("[core]\nhooksPath = other\nhooksPath = my", ["my"]),
        ("[include]\n\tpath = ../dev/config", ["dev/config"]),
        ('[includeIf "gitdir:/x/"]\npath = ../dev/config', ["dev/config"]),
        ("[include]\npath = ../dev/more", ["dev/more", "dev/config"]),
        ("[include]\npath = ../../x\n[include]\npath = /etc/gitconfig", []),
        ("[include]\npath = ../dev/loop", ["dev/loop"]),
        ("[core]\nfsmonitor = tools/watch --fast", ["tools/watch"]),
        ('[filter "a.b"]\nclean = python3 tools/clean.py %f', ["tools/clean.py"]),
        ('[alias]\nx = "!sh tools/clean.py"', ["tools/clean.py"]),
        ("[diff \"x\"]\ntextconv = 'tools/watch'", ["tools/watch"]),
        ('[remote "origin"]\nurl = tools/watch\nfetch = +refs/heads/*:refs/remotes/origin/*', []),
        ("no settings", []),
        ("[core", []),
        ("", []),
    ],
)
def test_what_the_settings_name_in_the_work_tree_is_found_as_git_reads_them(
    tmp_path: Path, text: str, named: list[str]
) -> None:
    make(tmp_path, "my/x", "other/x", "dev/config", "tools/watch", "tools/clean.py")
    (tmp_path / "dev/more").write_text("[include]\npath = config\n")
    (tmp_path / "dev/loop").write_text("[include]\npath = loop\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(text)
    found = find_named_files(tmp_path / ".git", tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in found] == named


def test_what_the_users_own_settings_of_git_name_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "work/my/x", "work/other/x", "work/.git/HEAD", "dotfiles/gitconfig")
    (tmp_path / "dotfiles/gitconfig").write_text("[core]\nhooksPath = my\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").symlink_to("../dotfiles/gitconfig")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert list(find_named_files(tmp_path / "work/.git", tmp_path / "work")) == [tmp_path / "work/my"]
    (tmp_path / "work/.git/config").write_text("[core]\nhooksPath = other\n")
    assert list(find_named_files(tmp_path / "work/.git", tmp_path / "work")) == [tmp_path / "work/other"]


@pytest.mark.parametrize(
    ("present", "written", "is_found"),
    [
        (["HEAD", "objects/", "refs/"], ["config"], True),
        (["HEAD", "objects/", "refs/"], ["hooks/pre-commit"], True),
        (["HEAD", "config", "objects/"], ["refs/heads/main"], True),
        ([], ["HEAD", "config", "objects/a", "refs/b"], True),
        ([], ["HEAD", "commondir"], True),
        (["objects/", "refs/"], ["config"], True),
        (["HEAD", "objects/", "refs/"], ["deep/er/file"], True),
        (["objects/"], ["refs/heads/main"], False),
        ([], ["config", "HEAD"], False),
        (["src/"], ["src/a.py"], False),
        (["config/", "objects/", "hooks/"], ["refs/use.ts"], False),
        (["config/", "objects/", "refs/"], ["hooks/use.ts"], False),
        ([], ["config/a.ts", "objects/b.ts", "refs/c.ts"], False),
        (["config", "objects/"], ["refs"], False),
        (["config/", "objects/", "refs/"], ["HEAD"], True),
    ],
)
def test_a_write_in_a_folder_that_git_accepts_as_a_repository_is_found(
    tmp_path: Path, present: list[str], written: list[str], is_found: bool
) -> None:
    for name in present:
        make(tmp_path, f"evil/{name}x" if name.endswith("/") else f"evil/{name}")
    paths = [tmp_path / "evil" / name for name in written]
    assert find_repository_writes(paths, tmp_path) == (set(paths) if is_found else set())
