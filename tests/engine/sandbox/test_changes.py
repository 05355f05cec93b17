"""Protected files and those with secrets in a project, and what a command changed of them."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from opencode_tui.engine.permission.protected import is_protected
from opencode_tui.engine.permission.shell.filesystem import ShellFileSystem
from opencode_tui.engine.project.git_reach import find_reach
from opencode_tui.engine.project.repository import find_repository, names_worktree
from opencode_tui.engine.sandbox import changes
from opencode_tui.engine.sandbox.changes import ProjectFiles, compare, undo
from opencode_tui.schema.error import GitUnavailableError
from tests.engine.permission.test_protected import PROTECTED
from tests.support.rows import each
from tests.support.snapshot.users import world_of
from tests.support.world.repo import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.write(".envrc", "x")
    repo.write("src/deep/.env", "K=1")
    repo.write("src/.env.example", "K=")
    repo.write("node_modules/a/.env", "K=1")
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\n")
    repo.commit("begin")
    return repo


def named(paths: "tuple[Path, ...]", root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in paths)


def test_secrets_are_found_at_any_depth_but_not_in_installed_packages(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    assert named(files.secret(), repo.path) == ["src/deep/.env"]
    repo.write("src/.env.local", "K=2")
    repo.write("new/folder/x.env", "K=3")
    (repo.path / "src/deep/.env").unlink()
    files.refresh()
    assert named(files.secret(), repo.path) == ["new/folder/x.env", "src/.env.local"]


def test_a_folder_that_holds_a_virtual_environment_is_no_secret(repo: Repo) -> None:
    (repo.path / ".env").mkdir()
    files = ProjectFiles(repo.path)
    files.refresh()
    assert repo.path / ".env" not in files.secret()


@pytest.mark.slow
@each(
    "name",
    [
        *(
            ".Envrc",
            "OpenCode.json",
            "opencode.jsonc",
            "x.code-workspace",
            "crush.json",
            "sub/.bashrc",
            ".config/fish/a",
        ),
        *("Library/LaunchAgents/x", "GIT~1/config", ".cursor/mcp.json", ".vscode/tasks.json", "a/.aider.conf.yml"),
        *(name for name in PROTECTED if ".git" not in name.split("/")),
    ],
)
def test_protected_names_of_all_kinds_are_found(row_path: Path, name: str) -> None:
    repo = make_repo(row_path / "project")
    assert is_protected(f"{repo.path}/{name}", str(repo.path))
    repo.write(name, "x")
    files = ProjectFiles(repo.path)
    files.refresh()
    assert [path for path in files.protected() if (repo.path / name).is_relative_to(path)] != []


@pytest.mark.parametrize("name", [".ENV", "a/x.env", "X.Env.local", "prod.env.old"])
def test_secret_names_of_all_kinds_are_found(repo: Repo, name: str) -> None:
    repo.write(name, "x")
    files = ProjectFiles(repo.path)
    files.refresh()
    assert repo.path / name in files.secret()


@pytest.mark.parametrize("given", [("HEAD", "objects/x", "refs/x"), ("HEAD", "commondir")])
def test_what_is_in_a_folder_that_looks_like_a_repository_counts(repo: Repo, given: tuple[str, ...]) -> None:
    repo.write("src/deep/.envrc", "x")
    for name in given:
        repo.write(f"src/{name}", "x")
        repo.write(f"src/deep/{name}", "x")
    files = ProjectFiles(repo.path)
    files.refresh()
    assert named(files.secret(), repo.path) == ["src/deep/.env"]
    assert repo.path / "src/deep/.envrc" in files.protected()


def test_very_many_folders_do_not_hide_what_was_found_before(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    assert files.is_complete
    monkeypatch.setattr(changes, "FOLDER_LIMIT", 2)
    for number in range(5):
        (repo.path / f"a/{number}").mkdir(parents=True)
    files.refresh()
    assert not files.is_complete
    assert named(files.secret(), repo.path) == ["src/deep/.env"]
    assert repo.path / ".envrc" in files.protected()
    (repo.path / "src/deep/.env").unlink()
    files.refresh()
    assert files.secret() == ()


def test_very_many_folders_do_not_hide_what_an_earlier_process_had_found(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = ProjectFiles(repo.path)
    earlier.refresh()
    monkeypatch.setattr(changes, "FOLDER_LIMIT", 2)
    for number in range(5):
        (repo.path / f"a/{number}").mkdir(parents=True)
    later = ProjectFiles(repo.path, remembered=earlier.folders_of_interest())
    later.refresh()
    assert not later.is_complete
    later.refresh()
    assert named(later.secret(), repo.path) == named(earlier.secret(), repo.path) == ["src/deep/.env"]


def test_more_protected_files_than_can_be_compared_are_said(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    files.record()
    assert files.is_recorded
    monkeypatch.setattr(changes, "_FILE_LIMIT", 10)
    for number in range(20):
        repo.write(f".idea/{number}.xml", "x")
    files.refresh()
    files.record()
    assert not files.is_recorded


def test_a_search_with_a_limit_lists_new_folders_and_compares_known_ones_later(repo: Repo) -> None:
    now = [0.0]
    files = ProjectFiles(repo.path, clock=lambda: now[0])
    files.refresh()
    repo.write("src/deep/b.env", "K=1")
    now[0] = 1.0
    files.refresh(limit_s=-1)
    assert named(files.secret(), repo.path) == ["src/deep/.env"]
    files.refresh()
    assert named(files.secret(), repo.path) == ["src/deep/.env", "src/deep/b.env"]


def test_a_folder_whose_time_was_set_back_is_listed_again(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before, times = files.record(), os.stat(repo.path / "src/deep")
    repo.write("src/deep/.envrc", "x")
    os.utime(repo.path / "src/deep", ns=(times.st_atime_ns, times.st_mtime_ns))
    files.refresh()
    assert [change.path for change in compare(before, files.record())] == [repo.path / "src/deep/.envrc"]


def test_a_new_hook_is_found_beside_any_number_of_protected_files(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_FILE_LIMIT", 10)
    for number in range(20):
        repo.write(f".vscode/{number}.json", "{}")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.write(".git/hooks/post-commit", "x")
    assert [change.path for change in compare(before, files.record())] == [repo.path / ".git/hooks/post-commit"]


def test_of_git_folders_what_names_programs_is_protected(repo: Repo) -> None:
    make_repo(repo.path / "n/m")
    files = ProjectFiles(repo.path)
    files.refresh()
    found = named(files.protected(), repo.path)
    assert {".envrc", ".git/config", ".git/hooks", "n/m/.git/config"} <= set(found)
    assert [name for name in found if "objects" in name or "HEAD" in name] == []


CHANGES: dict[str, tuple[Callable[[Repo], object], dict[str, str]]] = {
    "new hook": (lambda repo: repo.write(".git/hooks/post-commit", "x"), {".git/hooks/post-commit": "created"}),
    "changed settings of git": (lambda repo: repo.git("config", "core.pager", "x"), {".git/config": "changed"}),
    "other mode": (lambda repo: (repo.path / ".git/hooks/pre-commit").chmod(0o755), {".git/hooks/pre-commit": "changed"}),
    "deleted": (lambda repo: (repo.path / ".envrc").unlink(), {".envrc": "deleted"}),
    "link": (lambda repo: (repo.path / ".mcp.json").symlink_to("a"), {".mcp.json": "created"}),
    "deep": (lambda repo: repo.write("a/b/.husky/pre-commit", "x"), {"a/b/.husky/pre-commit": "created"}),
    "new repository": (lambda repo: make_repo(repo.path / "n"), {"n/.git/config": "created"}),
    "touched": (lambda repo: os.utime(repo.path / ".envrc", (1, 1)), {}),
    "written anew": (lambda repo: repo.write(".envrc", "x"), {}),
    "example of a hook": (lambda repo: repo.write(".git/hooks/a.sample", "x"), {}),
    "commit": (lambda repo: repo.commit("more", a="b"), {}),
    "branch": (lambda repo: repo.git("branch", "b"), {}),
    "own worktree": (lambda repo: repo.git("worktree", "add", "-q", "tree"), {"tree/.envrc": "created"}),
    "other files": (lambda repo: repo.write("AGENTS.md", "x"), {}),
}  # fmt: skip


@pytest.mark.fast_cases("new repository", "deleted")
@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_protected_files_are_found_and_undone(repo: Repo, name: str) -> None:
    act, expected = CHANGES[name]
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    act(repo)
    files.refresh()
    changed = compare(before, files.record())
    found = {str(change.path.relative_to(repo.path)): change.kind for change in changed}
    assert {path: found.get(path) for path in expected} == expected
    assert [path for path in found if path not in expected and not path.startswith("n/.git/")] == []
    assert undo(changed, before) == {}
    files.refresh()
    assert compare(before, files.record()) == []


NAMINGS: dict[str, tuple[str, Callable[[Repo], object]]] = {
    "a folder of hooks": ("tools/hooks/pre-commit", lambda repo: repo.git("config", "core.hooksPath", "tools/hooks")),
    "a program": ("tools/watch", lambda repo: repo.git("config", "core.fsmonitor", "tools/watch --fast")),
    "a filter": ("tools/clean.py", lambda repo: repo.git("config", "filter.x.clean", "python3 tools/clean.py %f")),
    "an alias": ("tools/x.sh", lambda repo: repo.git("config", "alias.x", "!sh tools/x.sh")),
    "included settings": ("dev/config", lambda repo: repo.git("config", "include.path", "../dev/config")),
    "hooks of a new repository": (
        "n/build/pre-commit",
        lambda repo: make_repo(repo.path / "n").git("config", "core.hooksPath", "build"),
    ),
    "a program of a new repository": ("n/run", lambda repo: make_repo(repo.path / "n").git("config", "core.pager", "./run")),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMINGS)
def test_what_new_settings_of_git_name_was_not_created_and_is_not_deleted(repo: Repo, name: str) -> None:
    path, act = NAMINGS[name]
    repo.write(path, "the user's")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    act(repo)
    files.refresh()
    changed = compare(before, files.record())
    assert [str(change.path.relative_to(repo.path)) for change in changed if ".git/" not in str(change.path)] == []
    assert any(change.path.name == "config" for change in changed)
    assert undo(changed, before) == {}
    assert (repo.path / path).read_text() == "the user's"
    files.refresh()
    assert compare(before, files.record()) == []


@pytest.mark.parametrize(
    "names",
    [
        ("src/config/a.ts", "src/objects/b.ts", "src/hooks/use.ts", "src/refs/c.ts"),
        ("src/objects/b.ts", "src/config/a.ts", "src/HEAD/h.ts", "src/hooks/use.ts", "src/refs/c.ts"),
        ("src/config", "src/hooks/use.ts", "src/refs", "src/objects/b.ts"),
        ("src/config", "src/hooks/use.ts", "src/refs/c.ts", "src/objects"),
        ("src/config", "src/HEAD/h.ts", "src/commondir/c.ts"),
        ("src/config", "src/HEAD", "src/commondir/c.ts"),
    ],
)
def test_folders_of_source_code_are_no_repository(repo: Repo, names: tuple[str, ...]) -> None:
    for name in names[:-1]:
        repo.write(name, "the user's")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.write(names[-1], "new")
    files.refresh()
    assert compare(before, files.record()) == []


@pytest.mark.parametrize(
    ("folders", "links", "file"),
    [
        (("objects", "refs"), (), "config"),
        (("objects", "refs"), ("HEAD",), "config"),
        (("objects",), ("refs",), "config"),
        (("refs",), ("objects",), "config"),
        ((), ("commondir", "HEAD"), "config"),
    ],
)
def test_what_git_may_take_for_a_repository_counts(
    repo: Repo, folders: tuple[str, ...], links: tuple[str, ...], file: str
) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    for name in folders:
        (repo.path / "n" / name).mkdir(parents=True)
    for name in links:
        (repo.path / "n").mkdir(exist_ok=True)
        (repo.path / "n" / name).symlink_to("/usr")
    repo.write(f"n/{file}", "x")
    files.refresh()
    assert repo.path / "n" / file in [change.path for change in compare(before, files.record())]


@pytest.mark.parametrize(
    ("settings", "created"),
    [
        ("[core]\n\thooksPath = tools/hooks\n", "tools/hooks/pre-commit"),
        ("[core]\n\tfsmonitor = sh tools/watch\n", "tools/watch"),
        ("[include]\n\tpath = ../dev/config\n", "dev/config"),
    ],
)
@pytest.mark.parametrize("is_moved", [False, True])
def test_what_settings_of_git_named_before_is_created_when_it_appears(
    repo: Repo, settings: str, created: str, *, is_moved: bool
) -> None:
    repo.write(".git/config", settings)
    repo.write(f"moved/{created}", "x")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    if is_moved:
        top = created.split("/")[0]
        (repo.path / "moved" / top).rename(repo.path / top)
    else:
        repo.write(created, "x")
    files.refresh()
    changed = compare(before, files.record())
    assert [(change.path, change.kind) for change in changed] == [(repo.path / created, "created")]
    assert undo(changed, before) == {}
    assert not (repo.path / created).exists()


def test_a_protected_name_in_a_folder_that_new_settings_name_is_created(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.git("config", "core.hooksPath", "tools")
    repo.write("tools/.envrc", "x")
    repo.write("tools/deep/.vscode/tasks.json", "{}")
    files.refresh()
    found = {str(change.path.relative_to(repo.path)) for change in compare(before, files.record())}
    assert found == {".git/config", "tools/.envrc", "tools/deep/.vscode/tasks.json"}


def test_the_file_of_a_worktree_is_protected_once_it_names_another_repository(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "tree")
    files = ProjectFiles(repo.path)
    files.refresh()
    assert "tree/.git" not in named(files.protected(), repo.path)
    before = files.record()
    repo.write("tree/.git", "gitdir: /tmp/other\n")
    assert [(change.path, change.kind) for change in compare(before, files.record())] == [
        (repo.path / "tree/.git", "created")
    ]


def test_the_git_folder_of_a_linked_worktree_is_watched(repo: Repo, tmp_path: Path) -> None:
    linked = repo.link(tmp_path / "linked")
    files = ProjectFiles(linked.path, git_folder=repo.path / ".git")
    files.refresh()
    before = files.record()
    repo.write(".git/hooks/post-commit", "x")
    assert [change.path for change in compare(before, files.record())] == [repo.path / ".git/hooks/post-commit"]


TODO = ".git/rebase-merge/git-rebase-todo"


@pytest.mark.fast_cases(".git/worktrees/w-None- _exec x-True", ".git/worktrees/w-too long to be read")
@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("pick 1\n", "pick 2\n", False),
        ("pick 1\nexec make\n", "exec make\n", False),
        ("pick 1\nexec make\n", None, False),
        (None, "pick 1\n# exec x\n", False),
        ("pick 1\n", "pick 1\nexec x\n", True),
        ("pick 1\n", "x y\npick 1\n", True),
        ("exec make\n", "exec make; x\n", True),
        (None, " \texec x", True),
        pytest.param("pick 1\n", "pick 1\n" * 20_000 + "exec x\n", True, id="too long to be read"),
    ],
)
@pytest.mark.parametrize("folder", [".git", ".git/worktrees/w", "n/.git"])
def test_of_a_rebase_new_steps_that_start_programs_count(
    repo: Repo, folder: str, old: str | None, new: str | None, counts: bool
) -> None:
    path = repo.path / TODO.replace(".git", folder, 1)
    path.parent.mkdir(parents=True)
    if old is not None:
        path.write_text(old)
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    assert path not in files.protected()
    path.unlink(missing_ok=True)
    if new is not None:
        path.write_text(new)
    files.refresh()
    changed = compare(before, files.record())
    assert [change.path for change in changed] == ([path] if counts else [])
    assert undo(changed, before) == {}
    if counts:
        assert (path.read_text() if path.exists() else None) == old


def test_a_large_changed_file_cannot_be_restored(repo: Repo) -> None:
    large = repo.write(".envrc", "x" * 100_000)
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    large.write_text("y")
    assert undo(compare(before, files.record()), before) == {large: "its old content is not known"}
    assert large.read_text() == "y"


def test_an_undo_without_a_decision_keeps_the_new_content_beside(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.write(".envrc", "new")
    repo.write(".envrc.not-approved", "older")
    repo.write(".vscode/settings.json", "made")
    files.refresh()
    found = [one for one in compare(before, files.record()) if one.path.name in (".envrc", "settings.json")]
    assert undo(found, before, keeps_copies=True) == {}
    names = (".envrc", ".envrc.not-approved", ".envrc.not-approved-2", ".vscode/settings.json.not-approved")
    assert [(repo.path / name).read_text() for name in names] == ["x", "older", "new", "made"]
    assert not (repo.path / ".vscode/settings.json").exists()


class Home:
    """A home folder beside the project, with files of protected names, and the links to it that a command may make."""

    def __init__(self, repo: Repo, *, is_absolute: bool) -> None:
        self.path = repo.path.parent / "home"
        self.target = self.path if is_absolute else Path("..") / self.path.name
        (self.path / ".ssh").mkdir(parents=True)
        for name in (".bashrc", ".ssh/authorized_keys"):
            (self.path / name).write_text("the user's")

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.path)): path.read_text() for path in self.path.rglob("*") if path.is_file()}

    def replace_by_link(self, folder: Path, kept: str) -> None:
        """Rename a folder, and make a link to the home in its place."""
        folder.rename(folder.with_name(kept))
        folder.symlink_to(self.target)


@pytest.fixture(params=["relative", "absolute"])
def home(repo: Repo, request: pytest.FixtureRequest) -> Home:
    return Home(repo, is_absolute=request.param == "absolute")


def test_a_folder_that_became_a_link_is_not_written_through(repo: Repo, home: Home) -> None:
    repo.write("dot/.bashrc", "of the repository")
    files, owned = ProjectFiles(repo.path), home.files()
    files.refresh()
    before = files.record()
    home.replace_by_link(repo.path / "dot", "old")
    files.refresh()
    changed = compare(before, files.record())
    assert {(str(one.path.relative_to(repo.path)), one.kind) for one in changed} == {
        ("dot/.bashrc", "deleted"),
        ("old/.bashrc", "created"),
    }
    left = undo(changed, before)
    assert home.files() == owned
    assert left == {repo.path / "dot/.bashrc": f"{repo.path}/dot is a link now"}
    assert (repo.path / "old/.bashrc.not-approved").read_text() == "of the repository"


@pytest.mark.parametrize("name", [".bashrc", ".ssh/authorized_keys"])
def test_a_link_in_the_place_of_a_new_file_s_folder_deletes_nothing(repo: Repo, home: Home, name: str) -> None:
    files, owned = ProjectFiles(repo.path), home.files()
    files.refresh()
    before = files.record()
    repo.write(f"a/{name}", "new")
    files.refresh()
    changed = compare(before, files.record())
    home.replace_by_link(repo.path / "a", "b")
    left = undo(changed, before)
    assert home.files() == owned
    assert left == {repo.path / "a" / name: f"{repo.path}/a is a link now"}


def test_the_search_does_not_follow_a_link_made_meanwhile(repo: Repo, home: Home) -> None:
    (repo.path / "a").mkdir()
    calls = 0

    def clock() -> (
        float
    ):  # called for the deadline, then before each folder: the first one below the project comes third
        nonlocal calls
        if (repo.path / "begin").exists():
            calls += 1
        if calls == 3:
            home.replace_by_link(repo.path / "a", "b")
        return 0.0

    files, owned = ProjectFiles(repo.path, clock=clock), home.files()
    files.refresh(limit_s=1)
    before = files.record()
    repo.write("begin", "")
    files.refresh(limit_s=1)
    assert (repo.path / "a").is_symlink()
    changed = compare(before, files.record())
    undo(changed, before)
    assert home.files() == owned
    assert changed == []


def test_a_pipe_in_the_place_of_git_s_settings_does_not_stop_the_search(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    (repo.path / ".git/config").unlink()
    os.mkfifo(repo.path / ".git/config")
    changed = compare(before, files.record())
    assert [(one.path, one.kind) for one in changed] == [(repo.path / ".git/config", "changed")]
    assert undo(changed, before) == {}
    assert (repo.path / ".git/config").is_file()


NAMING = (
    ".git/HEAD",
    ".git/packed-refs",
    ".git/commondir",
    ".git/objects/info/alternates",
    ".git/worktrees/w/HEAD",
    ".git/worktrees/w/gitdir",
    ".git/worktrees/w/commondir",
    ".git/modules/m/HEAD",
    ".git/modules/m/config",
    ".git/rebase-merge/git-rebase-todo",
    "nested/.git",
    "bare/HEAD",
    "bare/commondir",
    ".gitmodules",
)
"""Files by which a repository names other files, and which a command can write."""

STRANGE = {
    "null characters": b"ref: refs/heads/a\0b\ngitdir: /x\0y\n../\0\n[core]\n\tworktree = a\0b\n[include]\n\tpath = a\0b\n",
    "a pointer with null characters": b"gitdir: x\0y",
    "a setting with null characters": b"[core]\n\thooksPath = a\0b\n\tworktree = \0\n[include]\n\tpath = \0\n",
    "only null characters": bytes(70_000),
    "long names": b"ref: refs/heads/" + b"a/" * 3000 + b"\ngitdir: " + b"b" * 5000,
    "a long pointer": b"gitdir: " + b"b" * 5000,
    "bytes of no text": b"ref: refs/heads/\xff\xfe\ngitdir: \xff\xfe/\xed\xa0\x80\n",
    "itself": b"gitdir: ../nested",
    "nothing": b"",
}


@pytest.mark.fast_cases(".git/HEAD", "nested/.git")
@pytest.mark.parametrize("name", NAMING)
def test_no_content_of_a_file_that_names_others_stops_the_search(tmp_path: Path, name: str) -> None:
    for number, content in enumerate(STRANGE.values()):
        repo = make_repo(tmp_path / str(number))
        repo.write("bare/objects/x", "")
        repo.write("bare/refs/x", "")
        repo.write(".git/worktrees/w/logs", "")
        repo.write(".git/modules/m/objects/x", "")
        repo.write(".git/modules/m/refs/x", "")
        files = ProjectFiles(repo.path)
        files.refresh()
        before = files.record()
        (repo.path / name).parent.mkdir(parents=True, exist_ok=True)
        (repo.path / name).write_bytes(content)
        repo.write("new/.envrc", "x")
        files.refresh()
        changed = compare(before, files.record())
        assert repo.path / "new/.envrc" in [one.path for one in changed]
        assert undo(changed, before) == {}
        assert not (repo.path / "new/.envrc").exists()
        found = find_repository(repo.path)
        if found is not None:
            assert found.branch is None or "\0" not in found.branch
            assert names_worktree(found) in (True, False)
        for folder in (repo.path, repo.path / "nested"):
            ShellFileSystem().remotes(str(folder))
            with suppress(GitUnavailableError):
                find_reach(folder, {})


def test_the_file_of_a_nested_folder_is_read_from_that_folder(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words lead to the project's own worktrees from the folder in which this program works."""
    repo.git("worktree", "add", "-q", "tree")
    repo.write("nested/own/worktrees/tree/HEAD", "ref: refs/heads/x")
    (repo.path / "own").symlink_to(".git")
    monkeypatch.chdir(repo.path)
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.write("nested/.git", "gitdir: own/worktrees/tree\n")
    files.refresh()
    assert [change.path for change in compare(before, files.record())] == [repo.path / "nested/.git"]


def test_a_folder_in_the_place_of_a_file_is_moved_away(repo: Repo) -> None:
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    (repo.path / ".envrc").unlink()
    repo.write(".envrc/work", "x")
    files.refresh()
    assert undo(compare(before, files.record()), before) == {}
    assert (repo.path / ".envrc").read_text() == "x"
    assert list((repo.path / ".envrc.not-approved").iterdir()) == []


def test_a_folder_that_became_a_file_is_reported(repo: Repo) -> None:
    repo.write("dot/.bashrc", "x")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.write("dot/.bashrc", "y")
    changed = compare(before, files.record())
    (repo.path / "dot").rename(repo.path / "old")
    (repo.path / "dot").write_text("a file")
    assert undo(changed, before) == {repo.path / "dot/.bashrc": f"{repo.path}/dot is a file now"}


PLANTED = {
    ".git/refs/heads/opencode-tui": "a link",
    ".git/logs/HEAD": "a link",
    ".git/objects/00": "a link",
    ".git/HEAD": "a pipe",
    ".git/index": "a link",
    ".git/packed-refs": "a link",
    ".git/COMMIT_EDITMSG": "a second name of a file",
    "nested/.git/HEAD": "a link",
}


@pytest.mark.parametrize("place", PLANTED)
def test_what_a_command_leaves_in_a_git_folder_is_reported_and_undone(repo: Repo, tmp_path: Path, place: str) -> None:
    make_repo(repo.path / "nested")
    kept = {name: (repo.path / ".git" / name).read_bytes() for name in ("HEAD", "index", "config")}
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    path = repo.path / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if PLANTED[place] == "a link":
        path.symlink_to(tmp_path / "elsewhere")
    elif PLANTED[place] == "a pipe":
        os.mkfifo(path)
    else:
        path.hardlink_to(repo.path / ".git/config")
    files.refresh()
    changed = compare(before, files.record())
    assert [(one.path, one.what) for one in changed] == [(path, PLANTED[place])]
    assert undo(changed, before, keeps_copies=True) == {}
    assert not list(path.parent.glob("*not-approved"))
    assert {name: (repo.path / ".git" / name).read_bytes() for name in kept} == kept
    assert not path.is_symlink() and (path.name in ("HEAD", "index") or not os.path.lexists(path))


def test_links_that_were_in_a_git_folder_before_a_command_are_no_change(repo: Repo, tmp_path: Path) -> None:
    (repo.path / ".git/info/exclude").unlink(missing_ok=True)
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/exclude").symlink_to(tmp_path / "mine")
    files = ProjectFiles(repo.path)
    files.refresh()
    before = files.record()
    repo.commit("second", b="2\n")
    files.refresh()
    assert compare(before, files.record()) == []


@pytest.mark.parametrize("closed", [".husky/made/d", ".husky/made", ".husky"])
def test_a_protected_folder_that_the_command_closes_is_reported(closed: str) -> None:
    with world_of("user") as world:
        root = world.root
        (root / ".husky").mkdir(parents=True)
        (root / ".husky/pre-commit").write_text("#!/bin/sh\n")
        files = ProjectFiles(root)
        files.refresh()
        before = files.record()
        (root / ".husky/made/d").mkdir(parents=True)
        (root / ".husky/made/d/pre-push").write_text("#!/bin/sh\n")
        (root / closed).chmod(0)
        files.refresh()
        found = {str(change.path.relative_to(root)) for change in compare(before, files.record())}
    assert closed in found
