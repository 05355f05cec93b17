"""Claims about remotes that the settings of a repository name: an approval covers another computer, not what the project brings."""

from pathlib import Path

import pytest

from opencode_tui.engine.permission.command_decision import CommandScope, decide_command, plan_command
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from opencode_tui.engine.permission.git_config import find_remotes
from opencode_tui.engine.permission.shell.scan import scan
from tests.support.rows import each
from tests.support.world.rules import rules

SETTINGS = """
[core]
    bare = false
[remote "origin"]
    url = https://x.org/y.git
[remote "ssh"]
    url = git@x.org:y/z.git
[remote "path"]
    url = ./evil.git
[remote "above"]
    url = ../evil.git
[remote "absolute"]
    url = /srv/evil.git
[remote "file"]
    url = file:///srv/evil.git
[remote "helper"]
    url = ext::./x
[remote "scheme"]
    url = foo://x/y
[remote "mixed"]
    url = https://x.org/y.git
    pushurl = ./evil.git
[remote "rewritten"]
    url = gh:x/y
[remote "spoiled"]
    url = bad:x/y
[url "https://x.org/"]
    insteadOf = gh:
[url "./evil.git/"]
    insteadOf = bad:
[remotes]
    group = origin ssh
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("p") / "proj"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / ".git/config").write_text(SETTINGS)
    return folder


def decided(project: Path, line: str) -> str:
    """Return what is decided where the user always allows each kind of git command."""
    defaults = default_rules(PermissionFolders(home=project.parent, tool_output=Path("/data/out")))
    grants = rules(*(f"bash git {one} * allow" for one in ("push", "fetch", "pull", "ls-remote", "remote", "lfs")))
    found = scan(line, cwd=str(project), home=str(project.parent), project_root=str(project))
    scope = CommandScope(line, str(project), str(project), [str(project)], [defaults], tier="bubblewrap")
    return decide_command(plan_command(found, scope), [defaults], grants, tier="bubblewrap").action


ELSEWHERE = """
git push
git push origin
git push origin main
git push ssh HEAD:x
git push rewritten
git fetch
git fetch origin
git fetch group
git pull
git pull origin main
git ls-remote origin
git remote show origin
git remote prune origin
git lfs push origin main
cd src && git push origin
git push gh:x/y
"""

HERE = """
git push path
git push path main
git push above
git push absolute
git push file
git push helper
git push scheme
git push mixed
git push spoiled
git push bad:x/y
git push unknown
git push "path"
git push -f path
git push --tags path
git push -o x path
git fetch path
git fetch --all
git fetch --multiple origin path
git fetch origin --multiple path
git pull path main
git pull --all
git ls-remote path
git remote update
git remote show path
git lfs push path main
cd src && git push path
r=path; git push $r
git push pa$X
"""


@each("line", ELSEWHERE.strip().splitlines())
def test_another_computer_is_covered(line: str, project: Path) -> None:
    assert decided(project, line) == "allow"


@each("line", HERE.strip().splitlines())
def test_what_the_project_or_this_computer_brings_is_not(line: str, project: Path) -> None:
    assert decided(project, line) == "ask"


@pytest.mark.parametrize(
    ("settings", "decision"),
    [
        ('[remote "origin"]\nurl = ./evil.git\n', "ask"),
        ('[remote "origin"]\nurl = https://x.org/y\n[branch "main"]\nremote = ./evil.git\n', "ask"),
        ('[remote "origin"]\nurl = https://x.org/y\n[branch "main"]\npushRemote = other\n', "ask"),
        ('[remote "origin"]\nurl = https://x.org/y\n[remote]\npushDefault = ../evil.git\n', "ask"),
        ('[remote "only"]\nurl = ./evil.git\n', "ask"),
        ('[remote "only"]\nurl = https://x.org/y\n', "allow"),
        ('[remote "origin"]\nurl = https://x.org/y\n[branch "main"]\nremote = .\n', "allow"),
        ('[remote "origin"]\nurl = https://x.org/y\n[remote "backup"]\nurl = ../b.git\n', "allow"),
        ('[remote "origin"]\nurl = "https://x.org/y"\n[url "./e/"]\npushInsteadOf = https://x.org/\n', "ask"),
    ],
)
def test_a_push_without_a_name_goes_where_the_settings_say(tmp_path: Path, settings: str, decision: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(settings)
    assert decided(tmp_path, "git push") == decision


def test_a_linked_worktree_has_the_remotes_of_its_repository(tmp_path: Path) -> None:
    folder = tmp_path / "main/.git/worktrees/copy"
    folder.mkdir(parents=True)
    (tmp_path / "main/.git/config").write_text('[remote "origin"]\nurl = ./evil.git\n')
    (folder / "commondir").write_text("../..\n")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/.git").write_text(f"gitdir: {folder}\n")
    found = find_remotes(tmp_path / "copy")
    assert found is not None and found.urls == {"origin": ("./evil.git",)}
    assert decided(tmp_path / "copy", "git push") == "ask"
