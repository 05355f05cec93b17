"""Claims about rules for reading and git: they hold for the files that a command of git reads in its repository."""

import os
import subprocess
from pathlib import Path

import pytest

from opencode_tui.engine.agent.explain import ExplainScope, explain
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from tests.support.rows import each
from tests.support.world.rules import rules

PRINTING = r"""
git show HEAD:secrets/key
git show :secrets/key
git show :0:secrets/key
git show HEAD:./secrets/key
cd secrets && git show HEAD:./key
cd secrets && git show HEAD:secrets/key
cd src && git show HEAD:../secrets/key
git -C secrets show HEAD:./key
git -C secrets show HEAD:secrets/key
git show "HEAD@{2040-01-01 10:00}:secrets/key"
git show 'HEAD^{/a: b}:secrets/key'
git show "$(git rev-parse HEAD):secrets/key"
REV=HEAD; git show $REV:secrets/key
git show user@branch:secrets/key
git show HEAD -- secrets/key
bash -c "git show HEAD:secrets/key"
git cat-file -p HEAD:secrets/key
git cat-file blob HEAD:secrets/key
echo HEAD:secrets/key | git cat-file --batch
git cat-file --batch <<< HEAD:secrets/key
git cat-file -p $(git rev-parse HEAD:secrets/key)
git archive HEAD secrets
git archive HEAD:secrets
git archive HEAD secrets/key | tar xO
git archive HEAD ':(glob)**/key' | tar xO
git archive HEAD . | tar xO
git diff HEAD~1 -- secrets/key
git diff HEAD~1:secrets/key HEAD:a.txt
git diff HEAD~1 -- 'secr\ets/key'
git log -p -- secrets/key
git log -p -- ':/secrets/key'
git log -p -- ':(top)secrets/key'
git log -p -- 'secr*'
git log -p -- '*key'
git log -p -- '*/key'
git log -p -- ':(glob)**/key'
git log -p -- ':(icase)SECRETS/KEY'
git log -p -- ':(top,icase)SECRETS'
cd src && git log -p -- ':/secrets/key'
git log -L1,1:secrets/key
git log -L 1,1:secrets/key
git grep needle HEAD -- secrets/key
git grep needle HEAD:secrets
git grep needle HEAD -- .
git grep -e needle HEAD -- secrets
git grep -eneedle HEAD:secrets
git grep needle -- 's*/k*'
cd src && git grep needle -- '../secr*'
git blame secrets/key
git blame HEAD -- secrets/key
git checkout HEAD~1 -- secrets/key; cat sec*/k*
git restore -s HEAD~1 secrets/key; cat sec*/k*
"""
"""Lines that print what is in a file for which there is a rule."""

RESTORING = """
git checkout HEAD~1 -- secrets/key
git checkout HEAD~1 -- ':/secrets/key'
git checkout HEAD~1 -- '*key'
git restore -s HEAD~1 secrets/key
git restore --source=HEAD~1 -- secrets/key
git restore -s HEAD~1 ':/secrets/key'
git restore -s HEAD~1 'secr*'
"""
"""Lines that write an older state of the file."""

OTHER = """
git show HEAD:secrets/$f
git tag v HEAD:secrets/key
git read-tree HEAD:secrets
git ls-tree HEAD:secrets
git sh HEAD:secrets/key
git show main:secrets//key
git show main:a/../secrets/key
"""

FREE = """
git show HEAD
git show HEAD:a.txt
git show HEAD:src
git show HEAD:$f
git show :a.txt
git show ':/a: secrets/key'
git show 'HEAD^{/a: secrets/key}'
cd src && git show HEAD:a.txt
git cat-file -p HEAD:a.txt
git archive HEAD src
git diff HEAD~1
git diff HEAD~1 -- a.txt
git diff --stat -- '*key'
git log -p -- a.txt
git log -p -- ':!secrets'
git log -p -- ':(exclude)secrets/key'
git log --oneline -- '*.txt'
git log --grep "a:secrets/key"
git log --format "%h:secrets/key"
git log -L1,1:a.txt
git grep needle -- '*.txt'
git grep "x:secrets/key"
git grep needle -- src
git grep needle HEAD:src
git commit -m "fix: secrets/key"
git commit -am "a:secrets/key"
git add a:b
git tag -l "s*"
git branch --list "secr*"
git checkout HEAD -- a.txt
git restore -s HEAD '*.txt'
"""


def lines(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    for name in ("secrets/key", "src/a.py", "a.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("older needle\n" if name == "secrets/key" else "text\n")
    git = "git init -qb main . && git add -A && git commit -qm 'a: b' && git branch user@branch"
    run(folder, f"{git} && echo newer needle > secrets/key && git commit -qam second && git branch -f user@branch")
    return folder


def run(folder: Path, line: str) -> str:
    """Return what a line prints in the folder, without the user's settings of git."""
    identity = {
        f"GIT_{one}_{name}": value
        for one in ("AUTHOR", "COMMITTER")
        for name, value in (("NAME", "a"), ("EMAIL", "a@b"))
    }
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PAGER": "cat",
        **identity,
    }
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environ, capture_output=True, timeout=60, check=False)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


async def explained(project: Path, line: str, *given: str) -> str:
    defaults = default_rules(PermissionFolders(home=project.parent, tool_output=Path("/data/out")))
    ruleset = [*defaults, *rules(*given)]
    scope = ExplainScope(ruleset, [""] * len(ruleset), [], project, project, project.parent, tier="bubblewrap")
    return (await explain("bash", line, scope)).action


@pytest.mark.fast_cases(
    "git grep -e needle HEAD -- s..",
    "git blame secrets/key",
    "git grep -eneedle HEAD:secrets",
    "git grep needle HEAD -- .",
)
@pytest.mark.parametrize("line", lines(PRINTING))
async def test_a_rule_that_denies_reading_holds_for_what_git_prints(project: Path, line: str) -> None:
    assert "needle" in run(project, line)
    for spelling in ("secrets/*", f"{project}/secrets/*", "*/key"):
        assert await explained(project, line, f"read {spelling} deny") == "deny"


@pytest.mark.parametrize("line", lines(RESTORING))
async def test_a_rule_that_denies_reading_holds_for_what_git_restores(project: Path, line: str) -> None:
    run(project, line)
    assert (project / "secrets/key").read_text() == "older needle\n"
    assert await explained(project, line, "read secrets/* deny") == "deny"


@each("line", lines(OTHER))
async def test_a_rule_that_denies_reading_holds_where_git_names_the_file_otherwise(project: Path, line: str) -> None:
    assert await explained(project, line, "read secrets/* deny") == "deny"


@each("line", lines(FREE))
async def test_what_reads_no_such_file_is_free(project: Path, line: str) -> None:
    assert await explained(project, line, "read secrets/* deny") == "allow"


@each("line", ["git push origin HEAD:secrets/key", "git fetch origin main:secrets/x", "git clone host:secrets/key"])
async def test_branches_and_other_computers_are_no_paths(project: Path, line: str) -> None:
    assert await explained(project, line, "read secrets/* deny") == "ask"


async def test_a_rule_that_allows_one_folder_allows_its_files_in_a_revision(project: Path) -> None:
    given = ("read * deny", "read src/* allow")
    assert await explained(project, "git show HEAD:src/a.py", *given) == "allow"
    assert await explained(project, "git show HEAD:a.txt", *given) == "deny"


@each("patterns", [" ".join(f"'*{number}*'" for number in range(200)), f"'{'*q' * 3_000}'"])
async def test_more_patterns_than_are_compared_count_as_all_files(project: Path, patterns: str) -> None:
    assert await explained(project, f"git log -p -- {patterns}", "read secrets/* deny") == "deny"


async def test_a_link_in_a_revision_is_not_followed(project: Path) -> None:
    (project / "link").symlink_to("/elsewhere/key")
    assert await explained(project, "cat link") == "ask"
    assert await explained(project, "git show HEAD:link") == "allow"


async def test_a_protected_file_that_git_names_from_the_top_asks_like_any_other(project: Path) -> None:
    (project / ".vscode").mkdir()
    for line in ("git checkout HEAD -- .vscode/tasks.json", "git checkout HEAD -- ':/.vscode/tasks.json'"):
        assert await explained(project, line) == "ask"
