"""Commits of marked pieces: they hold what was shown, and nothing that was staged before is lost."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.review.changes import read_changes
from opencode_tui.engine.review.commit import commit_marked
from opencode_tui.schema.api.review import ChangedPath, CommitMarked, GitReport, Hunk, TreeChanges
from opencode_tui.schema.error import ConfigError
from tests.support.world.repo import Repo, make_repo

TEXT = "".join(f"line {number}\n" for number in range(1, 41))


class Desk:
    """A repository with one commit, and what a user does there."""

    def __init__(self, path: Path, **files: str) -> None:
        self.repo: Repo = make_repo(path)
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
            self.repo.git("config", name, value)
        self.repo.commit("first", **(files or {"a.txt": TEXT}))
        found = find_repository(path)
        assert found is not None
        self.found = found
        self.git = SafeGit(path, environ=os.environ)

    async def changes(self) -> TreeChanges:
        return await read_changes(self.git, self.found)

    async def commit(self, wanted: Callable[[ChangedPath, Hunk], bool], message: str = "second") -> GitReport:
        files = (await self.changes()).files
        marked = [hunk.id for file in files for hunk in file.hunks if wanted(file, hunk)]
        return await commit_marked(self.git, self.found, CommitMarked(hunks=marked, message=message))

    def change(self, name: str, *lines: int, text: str = "changed") -> None:
        """Change lines of a file in the work tree, counted from 1."""
        rows = (self.repo.path / name).read_text().splitlines()
        for line in lines:
            rows[line - 1] = f"{text} {line}"
        self.repo.write(name, "\n".join(rows) + "\n")

    def hook(self, name: str, script: str) -> None:
        file = self.repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def committed(self, name: str = "a.txt") -> list[str]:
        """Return the lines that the last commit changed a file to."""
        return [
            line[1:]
            for line in self.repo.git("show", "--format=", "-U0", "HEAD", "--", name).splitlines()
            if _is_new(line)
        ]

    def staged(self) -> list[str]:
        return [line[1:] for line in self.repo.git("diff", "--cached", "-U0").splitlines() if _is_new(line)]

    def unstaged(self) -> list[str]:
        return [line[1:] for line in self.repo.git("diff", "-U0").splitlines() if _is_new(line)]


def _is_new(line: str) -> bool:
    return line.startswith("+") and not line.startswith("+++")


@pytest.mark.slow
async def test_changes_are_staged_unstaged_and_new_pieces(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r", **{"a.txt": TEXT, "gone.txt": "old\n"})
    desk.change("a.txt", 3)
    desk.repo.git("add", "a.txt")
    desk.change("a.txt", 20, 38)
    (desk.repo.path / "gone.txt").unlink()
    desk.repo.write("new file.py", "print()\n")
    files = (await desk.changes()).files
    shown = [(one.path, one.state, one.status, len(one.hunks), one.additions, one.deletions) for one in files]
    assert shown == [
        ("a.txt", "staged", "modified", 1, 1, 1),
        ("a.txt", "unstaged", "modified", 2, 2, 2),
        ("gone.txt", "unstaged", "deleted", 1, 0, 1),
        ("new file.py", "untracked", "added", 1, 1, 0),
    ]
    assert [hunk.before for hunk in files[1].hunks] == [17, 35] and "+changed 20" in files[1].hunks[0].lines


async def test_marked_pieces_are_committed_and_the_others_stay_as_they_were(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 2)
    desk.change("a.txt", 20)
    desk.repo.git("add", "a.txt")
    desk.change("a.txt", 30, 39)
    desk.repo.write("new.txt", "new\n")
    report = await desk.commit(
        lambda file, hunk: hunk.before in (17, 27) or file.path == "new.txt", "Fix #35\n\n#1 stays"
    )
    assert report.is_done and not report.warning
    assert desk.repo.git("log", "-1", "--format=%B") == "Fix #35\n\n#1 stays"
    assert desk.committed() == ["changed 20", "changed 30"] and desk.committed("new.txt") == ["new"]
    assert desk.staged() == ["changed 2"] and desk.unstaged() == ["changed 39"]
    assert desk.repo.git("status", "--porcelain") == "MM a.txt"


@pytest.mark.slow
async def test_a_piece_on_a_staged_one_that_is_not_marked_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 20)
    desk.repo.git("add", "a.txt")
    desk.change("a.txt", 21)
    before = desk.repo.git("status", "--porcelain"), desk.repo.git("rev-parse", "HEAD"), desk.staged()
    with pytest.raises(ConfigError, match="continues a staged piece"):
        await desk.commit(lambda file, _: file.state == "unstaged")
    assert (desk.repo.git("status", "--porcelain"), desk.repo.git("rev-parse", "HEAD"), desk.staged()) == before
    assert (await desk.commit(lambda *_: True)).is_done and desk.committed() == ["changed 20", "changed 21"]


FORMS = {
    "diff.suppressBlankEmpty": "true", "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "0",
    "diff.interHunkContext": "0", "diff.algorithm": "patience", "diff.renames": "copies", "diff.relative": "true",
    "diff.wordRegex": ".", "color.ui": "always", "core.quotePath": "false", "core.whitespace": "cr-at-eol",
    "apply.ignoreWhitespace": "change",
}  # fmt: skip
"""Settings of git that change how it writes or reads patches. Source: git-config(1), 2.39."""


@pytest.mark.fast_cases("color.ui", "diff.renames")
@pytest.mark.parametrize("setting", FORMS)
async def test_a_piece_is_committed_whatever_form_the_settings_give_patches(tmp_path: Path, setting: str) -> None:
    text = "".join("\n" if number % 3 == 0 else f"line {number}\n" for number in range(1, 41))
    desk = Desk(tmp_path / "r", **{"a.txt": text})
    desk.repo.git("config", setting, FORMS[setting])
    desk.change("a.txt", 5, 20, 35)
    report = await desk.commit(lambda _, hunk: "+changed 20" in hunk.lines)
    desk.repo.git("config", "--unset", setting)
    assert (report.is_done, desk.committed(), desk.unstaged()) == (True, ["changed 20"], ["changed 5", "changed 35"])


@pytest.mark.fast_cases("settings1-hooks1", "settings4-hooks4")
@pytest.mark.parametrize(
    ("settings", "hooks"),
    [
        ([("event", "pre-commit")], ["pre-commit"]),
        ([("event", "post-commit"), ("event", "commit-msg")], ["commit-msg", "post-commit"]),
        ([("event", "pre-commit"), ("event", ""), ("event", "commit-msg")], ["commit-msg"]),
        ([("event", "pre-commit"), ("enabled", "false")], []),
        ([("event", "pre-commit"), ("enabled", "no"), ("enabled", "yes")], ["pre-commit"]),
        ([("event", "pre-push")], []),
        ([("event", "reference-transaction"), ("event", "prepare-commit-msg")], ["prepare-commit-msg"]),
        ([], []),
    ],
)
async def test_hooks_of_the_settings_are_named_as_those_of_the_folder(
    tmp_path: Path, settings: list[tuple[str, str]], hooks: list[str]
) -> None:
    """Source: git-config(1), 2.54.0, `hook.<friendly-name>`."""
    desk = Desk(tmp_path / "r")
    desk.repo.git("config", "hook.A b.c.command", "true")
    for key, value in settings:
        desk.repo.git("config", "--add", f"hook.A b.c.{key}", value)
    assert (await desk.changes()).hooks == hooks
    desk.hook("pre-commit", "true")
    assert (await desk.changes()).hooks == ["pre-commit", *(one for one in hooks if one != "pre-commit")]


@pytest.mark.slow
async def test_a_hook_that_fails_loses_nothing_and_its_output_is_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 2)
    desk.repo.git("add", "a.txt")
    desk.change("a.txt", 30)
    desk.hook("pre-commit", "git diff --cached --name-only\necho one\necho two >&2\nexit 3")
    before = (desk.repo.path / ".git/index").read_bytes()
    report = await desk.commit(lambda file, _: file.state == "unstaged")
    assert not report.is_done and report.commit is None
    assert [line for line in report.output.splitlines() if line] == ["a.txt", "one", "two"]
    assert (desk.repo.path / ".git/index").read_bytes() == before
    assert desk.staged() == ["changed 2"] and desk.unstaged() == ["changed 30"]
    assert (await desk.changes()).hooks == ["pre-commit"]


@pytest.mark.slow
async def test_what_a_hook_adds_to_the_commit_is_in_the_index_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 30)
    desk.hook("pre-commit", "sed -i 's/^changed/formatted/' a.txt && git add a.txt")
    report = await desk.commit(lambda *_: True)
    assert report.is_done and report.warning == "a hook changed a.txt"
    assert desk.committed() == ["formatted 30"] and desk.repo.git("status", "--porcelain") == ""


@pytest.mark.slow
async def test_what_changed_since_it_was_shown_is_not_committed(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 30)
    desk.repo.write("new.txt", "seen\n")
    marked = [hunk.id for file in (await desk.changes()).files for hunk in file.hunks]
    for change in (lambda: desk.change("a.txt", 30, text="other"), lambda: desk.repo.write("new.txt", "evil\n")):
        change()
        with pytest.raises(ConfigError, match="changed since"):
            await commit_marked(desk.git, desk.found, CommitMarked(hunks=marked, message="m"))
    assert desk.repo.git("log", "--format=%s") == "first"


@pytest.mark.slow
async def test_a_signature_that_fails_loses_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.change("a.txt", 30)
    signer = desk.repo.write(".git/signer", "#!/bin/sh\necho no secret key >&2\nexit 2\n")
    signer.chmod(0o755)
    desk.repo.git("config", "gpg.program", str(signer))
    desk.repo.git("config", "commit.gpgsign", "true")
    report = await desk.commit(lambda *_: True)
    assert not report.is_done and "failed to sign" in report.output
    assert desk.unstaged() == ["changed 30"] and desk.repo.git("log", "--format=%s") == "first"


@pytest.mark.slow
async def test_the_first_commit_and_whole_files_of_each_kind(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.repo.git("checkout", "-q", "--orphan", "empty")
    desk.repo.git("rm", "-q", "--cached", "-r", ".")
    desk.repo.write("run.sh", "echo\n").chmod(0o755)
    (desk.repo.path / "link").symlink_to("run.sh")
    (desk.repo.path / "data.bin").write_bytes(b"a\0b")
    desk.repo.write("no end", "x")
    assert (await desk.commit(lambda *_: True)).is_done
    assert [line.split()[0] for line in desk.repo.git("ls-tree", "HEAD").splitlines()] == [
        "100644",
        "100644",
        "120000",
        "100644",
        "100755",
    ]
    assert desk.repo.git("status", "--porcelain") == "" and (desk.repo.path / "data.bin").read_bytes() == b"a\0b"


@pytest.mark.slow
async def test_filters_and_hooks_of_a_repository_run_for_a_commit_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r", **{".gitattributes": "*.big filter=big\n", "x.big": "small\n", "a.txt": TEXT})
    ran = tmp_path / "ran"
    desk.repo.git("config", "filter.big.clean", f"touch {ran}; tr a-z A-Z")
    desk.repo.git("config", "core.fsmonitor", f"touch {ran}")
    desk.repo.write("x.big", "larger text\n")
    changes = await desk.changes()
    assert not ran.exists()
    file = next(one for one in changes.files if one.path == "x.big")
    assert file.note == "stored by the filter big" and not file.hunks[0].lines
    assert (await desk.commit(lambda *_: True)).is_done
    assert ran.exists() and desk.repo.git("show", "HEAD:x.big") == "LARGER TEXT"


@pytest.mark.slow
async def test_a_merge_under_way_is_left_to_git(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "r")
    desk.repo.git("checkout", "-q", "-b", "other")
    desk.change("a.txt", 5, text="theirs")
    desk.repo.commit("theirs")
    desk.repo.git("checkout", "-q", "main")
    desk.change("a.txt", 30)
    desk.repo.commit("ours")
    desk.repo.git("merge", "-q", "--no-commit", "--no-ff", "other")
    assert "a merge is under way" in (await desk.changes()).problem
    with pytest.raises(ConfigError, match="a merge is under way"):
        await desk.commit(lambda *_: True)


@pytest.mark.slow
async def test_names_of_files_are_no_options_and_no_patterns(tmp_path: Path) -> None:
    names = ("-rf", "--all", "*", ":(glob)**", "a\nb", 'q"uote', "ü,100644")
    desk = Desk(tmp_path / "r")
    for name in (*names, "other.txt"):
        desk.repo.write(name, f"{name}\n")
    report = await desk.commit(lambda file, _: file.path != "other.txt", "names")
    assert report.is_done
    listed = desk.repo.git("ls-tree", "-z", "--name-only", "HEAD").split("\0")
    assert set(names) <= set(listed) and "other.txt" not in listed
    for name in names:
        desk.repo.write(name, "changed\n")
    assert (await desk.commit(lambda file, _: file.path != "other.txt", "again")).is_done
    assert desk.repo.git("status", "--porcelain") == "?? other.txt"
