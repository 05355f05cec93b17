"""Forks in a separate git worktree; the repository, its hooks and filters, and the user's changes."""

import os
from pathlib import Path

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.request import CreateSession, ForkSession
from opencode_tui.schema.error import ConfigError, GitUnavailableError, NoSuchMessageError, SnapshotError
from tests.support.sessions.records import write_session
from tests.support.world.repo import make_repo

OWN = ForkSession(worktree=True)


@pytest.fixture
def repo(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.write(".gitattributes", "*.txt filter=loud\n*.md text eol=crlf\n")
    repo.write(".gitignore", "ignored\n")
    repo.write("sub/a.py", "x = 1\n")
    repo.commit("begin", **{"notes.txt": "plain\n", "tool.sh": "#!/bin/sh\n", "page.md": "a\n"})
    witness = tmp_path / "ran"
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = repo.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch {witness}\n")
        hook.chmod(0o755)
    repo.git("config", "filter.loud.smudge", f"sh -c 'touch {witness}; cat'")
    repo.git("config", "filter.loud.clean", f"sh -c 'touch {witness}; cat'")
    (repo.path / "tool.sh").chmod(0o755)
    os.symlink("sub/a.py", repo.path / "link")
    repo.write("sub/a.py", "x = 2\n")
    repo.write("new.bin", "a\r\n\0")
    repo.write("ignored", "mine")
    (repo.path / "page.md").unlink()
    return repo


@pytest.fixture
def source(paths, repo):
    return write_session(paths, turns=1, directory=str(repo.path), slug="brave-otter")


def tree(folder):
    """Return the content of a folder: bytes and modes by path, without `.git`."""
    return {
        str(path.relative_to(folder)): (
            os.readlink(path) if path.is_symlink() else path.read_bytes(),
            path.lstat().st_mode,
        )
        for path in Path(folder).rglob("*")
        if not path.is_dir() and ".git" not in path.relative_to(folder).parts
    }


def state(repo):
    """Return what must not change in the repository: HEAD, index, stash, settings, its own branches."""
    branches = [line for line in repo.git("for-each-ref").splitlines() if "opencode-tui/" not in line]
    files = [(repo.path / ".git" / name).read_bytes() for name in ("HEAD", "index", "config")]
    return files, branches, repo.git("rev-parse", "HEAD")


@pytest.mark.slow
async def test_the_worktree_holds_the_files_as_they_are_and_nothing_runs(environ, repo, source, tmp_path):
    before, files = state(repo), tree(repo.path)
    async with open_client(environ, repo.path) as client:
        fork = await client.sessions.fork(source, OWN)
    made = Path(fork.directory)
    files.pop("ignored")
    assert made == tmp_path / "project-brave-otter" and tree(made) == files
    assert not (tmp_path / "ran").exists() and state(repo) == before
    assert make_repo(made).git("symbolic-ref", "HEAD") == "refs/heads/opencode-tui/brave-otter"
    assert not list(made.rglob(".opencode-tui-*"))


@pytest.mark.slow
async def test_git_sees_the_same_changes_there(environ, repo, source):
    repo.git("config", "--unset", "filter.loud.clean")
    wanted = repo.git("status", "--porcelain")
    async with open_client(environ, repo.path) as client:
        fork = await client.sessions.fork(source, OWN)
    assert type(repo)(Path(fork.directory)).git("status", "--porcelain") == wanted != ""


@pytest.mark.slow
async def test_a_second_fork_gets_a_place_of_its_own(environ, repo, source, tmp_path):
    (tmp_path / "project-brave-otter-2").mkdir()
    async with open_client(environ, repo.path) as client:
        places = [(await client.sessions.fork(source, OWN)).directory for _ in range(2)]
    assert [Path(place).name for place in places] == ["project-brave-otter", "project-brave-otter-3"]


async def test_a_fork_from_a_folder_below_works_in_the_same_folder_there(environ, repo, source, tmp_path):
    async with open_client(environ, repo.path / "sub") as client:
        fork = await client.sessions.fork(source, OWN)
    assert Path(fork.directory) == tmp_path / "project-brave-otter" / "sub"


@pytest.mark.slow
async def test_the_last_session_of_a_folder_is_none_of_another_work_tree(environ, repo, source):
    async with open_client(environ, repo.path) as client:
        source = await client.sessions.create(CreateSession())
        fork = await client.sessions.fork(source.id, OWN)
        assert await client.sessions.latest() == source
    async with open_client(environ, Path(fork.directory)) as client:
        latest = await client.sessions.latest()
        assert latest is not None and latest.id == fork.id


@pytest.mark.slow
async def test_work_in_it_outlives_the_session(environ, repo, source):
    async with open_client(environ, repo.path) as client:
        fork = await client.sessions.fork(source, OWN)
        (Path(fork.directory) / "work.py").write_text("done")
        await client.sessions.remove(fork.id)
    assert (Path(fork.directory) / "work.py").read_text() == "done"


async def test_the_preview_makes_nothing(environ, repo, source, tmp_path):
    repo.write("big.bin", "x" * 3_000_000)
    async with open_client(environ, repo.path) as client:
        preview = await client.sessions.preview_fork(source, OWN)
        assert len(await client.sessions.list()) <= 1
    assert preview.directory == str(tmp_path / "project-brave-otter") and not Path(preview.directory).exists()
    assert preview.branch == "opencode-tui/brave-otter" not in repo.git("branch")
    assert "uncommitted changes included" in preview.notes[0] and preview.notes[1].startswith(
        "big.bin is not copied: untracked and over 2 MiB"
    )
    assert "git worktree remove" in preview.notes[-1]


@pytest.mark.slow
async def test_what_cannot_be_done_is_refused_and_leaves_nothing(environ, tmp_path, paths, repo, source):
    bare = tmp_path / "bare"
    bare.mkdir()
    unborn = make_repo(tmp_path / "unborn")
    for folder, error, words in [
        (bare, ConfigError, "not in a git repository"),
        (unborn.path, ConfigError, "has no commits"),
    ]:
        session_id = write_session(paths, turns=1, directory=str(folder))
        async with open_client(environ, folder) as client:
            with pytest.raises(error, match=words):
                await client.sessions.fork(session_id, OWN)
    async with open_client({**environ, "OPENCODE_CONFIG_CONTENT": '{"snapshot": false}'}, repo.path) as client:
        with pytest.raises(SnapshotError, match="filled from a snapshot"):
            await client.sessions.fork(source, OWN)
    async with open_client(environ, repo.path) as client:
        with pytest.raises(NoSuchMessageError):
            await client.sessions.fork(source, ForkSession(worktree=True, message_id="msg_000000000000doesnotexist00"))
    assert "opencode-tui/" not in repo.git("branch") and not (tmp_path / "project-brave-otter").exists()


@pytest.mark.slow
async def test_a_worktree_that_cannot_be_filled_is_removed(environ, repo, source, tmp_path, monkeypatch):
    monkeypatch.setattr("opencode_tui.storage.safe_folder.OpenFolder.create", _refuse)
    async with open_client(environ, repo.path) as client:
        with pytest.raises(SnapshotError, match="cannot be written"):
            await client.sessions.fork(source, OWN)
        assert len(await client.sessions.list()) <= 1
    assert "opencode-tui/" not in repo.git("branch") and not (tmp_path / "project-brave-otter").exists()


def _refuse(_folder, _name):
    raise OSError(28, "No space left on device")


async def test_an_error_of_git_is_reported(environ, repo, source):
    repo.git("pack-refs", "--all")
    repo.git("update-ref", "refs/heads/opencode-tui", "HEAD")
    async with open_client(environ, repo.path) as client:
        with pytest.raises(GitUnavailableError, match="git worktree failed"):
            await client.sessions.fork(source, OWN)
