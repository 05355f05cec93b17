"""Git that this program starts is led nowhere by what commands leave in a work tree or a git folder, in each tier."""

import os
from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project import git_reach
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.git_reach import GitSite, find_reach, name_site, refuse_other_repository
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.sandbox.tier import probe
from opencode_tui.schema.error import GitUnavailableError
from tests.support.world.repo import Repo, make_repo

SECRET = "CANARY-5678"


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def tier(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param != "none" and not (status := probe(request.param, os.environ, tmp_path)).works:
        pytest.skip(status.reason)
    return request.param


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setattr(git_reach, "_sites", {})
    (tmp_path / "home").mkdir()
    (tmp_path / "home/key").write_text(f"{SECRET}\n")
    made = make_repo(tmp_path / "r")
    made.commit("first", a="1\n")
    return made


@pytest.fixture
def home(repo: Repo) -> Path:
    return repo.path.parent / "home"


def use_tier(repo: Repo, tier: str, **settings: object) -> SafeGit:
    """Return git of a project whose commands are confined so."""
    sandbox = SandboxSettings.model_validate({"tier": tier, **settings})
    home = repo.path.parent / "home"
    name_site(GitSite(repo.path, find_repository(repo.path), home, sandbox))
    return SafeGit(repo.path, environ={"PATH": os.environ["PATH"], "HOME": str(home), "API_KEY": SECRET})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["packed-refs", "shallow", "index", "refs/heads/main", "HEAD", "info/grafts", "objects/info/commit-graph"]
)
async def test_no_error_shows_what_a_link_leads_to(repo: Repo, home: Path, tier: str, name: str) -> None:
    git = use_tier(repo, tier)
    path = repo.path / ".git" / name
    path.unlink(missing_ok=True)
    path.symlink_to(home / "key")
    for words in (("status", "--porcelain"), ("log", "--oneline"), ("for-each-ref",), ("diff", "HEAD")):
        try:
            said = await git.run(*words)
        except GitUnavailableError as error:
            said = str(error)
        assert SECRET not in said


@pytest.mark.slow
async def test_a_folder_that_becomes_a_link_leads_nowhere(repo: Repo, home: Path, tier: str) -> None:
    """What a race makes of a path in the moment in which git opens it: a link is there."""
    git = use_tier(repo, tier)
    (repo.path / "swapped").symlink_to(home)
    if tier == "none":
        pytest.skip("nothing confines git here")
    with pytest.raises(GitUnavailableError):
        await git.run("hash-object", "--no-filters", "--", "swapped/key")


@pytest.mark.slow
async def test_git_shows_no_key_of_the_users_variables(repo: Repo, tier: str) -> None:
    said = await use_tier(repo, tier).run("-c", "alias.print=!env", "print")
    assert "GIT_TERMINAL_PROMPT" in said
    assert SECRET not in said


@pytest.mark.slow
async def test_the_users_settings_count_without_credentials(repo: Repo, home: Path, tier: str) -> None:
    (home / ".gitconfig").write_text(
        f'[user]\n\tname = Ada\n[http "https://h"]\n\textraHeader = Authorization: {SECRET}\n'
        f'[url "https://{SECRET}@h"]\n\tinsteadOf = gh:\n[include]\n\tpath = more\n[core]\n\texcludesFile = ~/ignored\n'
    )
    (home / "more").write_text("[user]\n\temail = ada@example.com\n")
    (home / "ignored").write_text("b\n")
    repo.write("b", "")
    git = use_tier(repo, tier)
    assert await git.run("config", "user.name") + await git.run("config", "user.email") == "Ada\nada@example.com\n"
    assert await git.run("status", "--porcelain") == ""
    if tier != "none":
        assert SECRET not in await git.run("config", "--list", "--show-origin")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "HEAD", "packed-refs", "shallow", "COMMIT_EDITMSG"])
async def test_a_pipe_is_refused_by_name_and_never_waited_for(repo: Repo, tier: str, name: str) -> None:
    git = use_tier(repo, tier)
    (repo.path / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repo.path / ".git" / name)
    with pytest.raises(GitUnavailableError, match=rf"\.git/{name} is a pipe"):
        await git.run("status")


@pytest.mark.slow
@pytest.mark.parametrize("name", [".gitattributes", "below/.gitignore"])
async def test_a_pipe_in_the_work_tree_is_named_and_not_waited_for_to_the_limit(
    repo: Repo, tier: str, name: str
) -> None:
    git = use_tier(repo, tier)
    repo.write("a", "changed\n")
    repo.write("below/b", "new\n")
    os.mkfifo(repo.path / name)
    verb = "diff" if name == ".gitattributes" else "status"
    with pytest.raises(GitUnavailableError, match=rf"waits for .*/{name}, which is a pipe; delete it"):
        await git.run(verb)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["packed-refs", "index", "info/exclude"])
async def test_a_file_that_git_would_read_whole_is_refused_by_name_when_it_is_huge(
    repo: Repo, tier: str, name: str
) -> None:
    git = use_tier(repo, tier)
    (repo.path / ".git/info").mkdir(exist_ok=True)
    with (repo.path / ".git" / name).open("ab") as file:
        file.truncate(1 << 32)
    with pytest.raises(GitUnavailableError, match=rf"\.git/{name} is larger than 512 MiB"):
        await git.run("status")


@pytest.mark.slow
async def test_git_for_the_user_refuses_a_link_by_name(repo: Repo, home: Path, tier: str) -> None:
    git = use_tier(repo, tier)
    (repo.path / ".git/COMMIT_EDITMSG").unlink()
    (repo.path / ".git/COMMIT_EDITMSG").symlink_to(home / "key")
    with pytest.raises(GitUnavailableError, match=r"COMMIT_EDITMSG is a link.*experimental\.sandbox\.writable"):
        await git.run_for_user("commit", "--allow-empty", "-m", "second")
    assert (home / "key").read_text() == f"{SECRET}\n"


@pytest.mark.slow
async def test_a_link_of_the_user_counts_where_the_settings_open_its_folder(repo: Repo, home: Path, tier: str) -> None:
    (repo.path / ".git/rr-cache").symlink_to(home / "cache")
    (home / "cache").mkdir()
    with pytest.raises(GitUnavailableError, match="rr-cache is a link"):
        await use_tier(repo, tier).run_for_user("status")
    assert (await use_tier(repo, tier, writable=["~/cache"]).run_for_user("status")).code == 0


def test_a_git_file_of_a_command_gives_git_no_other_repository(repo: Repo, home: Path) -> None:
    other = make_repo(home / "other")
    nested = repo.path / "nested"
    nested.mkdir()
    (nested / ".git").write_text(f"gitdir: {other.path}/.git\n")
    reach = find_reach(nested, {})
    assert not any(path.is_relative_to(home) for path in (*reach.read, *reach.write))


def test_a_repository_that_is_another_than_before_is_refused(repo: Repo, home: Path) -> None:
    use_tier(repo, "auto")
    other = make_repo(home / "other")
    (repo.path / ".git").rename(repo.path / "old")
    (repo.path / ".git").write_text(f"gitdir: {other.path}/.git\n")
    found = find_repository(repo.path)
    assert found is not None
    with pytest.raises(GitUnavailableError, match=r"leads to .*other"):
        refuse_other_repository(found)
    with pytest.raises(GitUnavailableError, match=r"leads to .*other"):
        find_reach(repo.path, {})


def test_alternates_open_folders_of_objects_alone(repo: Repo, home: Path) -> None:
    other = make_repo(home / "other")
    lines = [str(other.path / ".git/objects"), str(home), str(home / "objects")]
    (home / "objects").mkdir()
    repo.write(".git/objects/info/alternates", "\n".join(lines))
    assert [path for path in find_reach(repo.path, {}).read if path.is_relative_to(home)] == [Path(lines[0])]


def test_a_folder_that_a_link_leads_to_is_refused(repo: Repo, home: Path) -> None:
    (repo.path / "sub").symlink_to(home)
    with pytest.raises(GitUnavailableError, match="a link leads to"):
        find_reach(repo.path / "sub", {})
