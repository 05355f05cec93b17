"""A git command that starts hooks of the repository runs what files of the project say, where there are such hooks."""

from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import scan
from tests.support.rows import each
from tests.support.shell.world import HOME, PROJECT


def runs_project(command: str, *files: str) -> bool:
    filesystem = VirtualFileSystem(PROJECT, files=[".git/HEAD", *files], symlinks={})
    (member,) = scan(command, cwd=PROJECT, home=HOME, project_root=PROJECT, filesystem=filesystem).members
    return member.runs_project


@each("file", [".git/hooks/pre-commit", ".husky/pre-commit", ".githooks/post-checkout"])
def test_a_hook_of_the_repository_is_run_by_what_starts_hooks(file: str) -> None:
    commands = ("git commit -m x", "git -C . commit -m x", "git checkout main", "git push", "git rebase main")
    assert [runs_project(command, file) for command in commands] == [True] * len(commands)
    assert not runs_project("git status", file)


@each("file", [".git/hooks/pre-commit.sample", ".husky/.gitignore", "README.md"])
def test_samples_are_no_hooks(file: str) -> None:
    assert not runs_project("git commit -m x", file)
