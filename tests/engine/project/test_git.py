"""How git is started: it ends when it must, reads nothing of this process, and works nowhere but in its folder."""

import asyncio
import errno
import os
import shutil
from pathlib import Path

import pytest

from opencode_tui.engine.project import git as git_module
from opencode_tui.engine.project.git import SafeGit, git_version
from opencode_tui.schema.error import GitMissingError, GitUnavailableError
from tests.support.world.repo import Repo, make_repo, run_git
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.commit("first", a="1\n")
    return repo


@pytest.fixture
def stuck(repo: Repo) -> Path:
    """Return a pipe that the repository's settings include: git waits until somebody writes to it."""
    pipe = repo.path / "settings"
    os.mkfifo(pipe)
    repo.git("config", "include.path", str(pipe))
    return pipe


def has_reader(pipe: Path) -> bool:
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno == errno.ENXIO:
            return False
        raise
    return True


async def until_stuck(pid_of_child_in: Path) -> None:
    """Wait until a git of this process has opened the folder's pipe."""
    async with asyncio.timeout(PATIENCE_S):
        while not [pid for pid in os.listdir("/proc") if pid.isdecimal() and _waits_in(pid, pid_of_child_in)]:
            await asyncio.sleep(0.01)


def _waits_in(pid: str, folder: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.path.basename(words[0]) == b"git" and os.fsencode(folder) in words


def safe(repo: Repo) -> SafeGit:
    return SafeGit(repo.path, environ=os.environ)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for git in /proc")
async def test_a_cancel_returns_when_git_has_ended(repo: Repo, stuck: Path) -> None:
    task = asyncio.create_task(safe(repo).run("status"))
    await until_stuck(repo.path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in os.listdir("/proc") if pid.isdecimal() and _waits_in(pid, repo.path)] == []


def test_git_is_ended_after_its_timeout(repo: Repo, stuck: Path) -> None:
    with pytest.raises(GitUnavailableError, match=r"git status in .* took longer than 0.1 s"):
        safe(repo).run_blocking("status", timeout_s=0.1)
    assert not has_reader(stuck)


def test_too_long_an_output_is_refused(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "OUTPUT_BYTES", 1 << 20)
    repo.commit("long", long="x" * (2 << 20))
    with pytest.raises(GitUnavailableError, match="printed more than 1 MiB"):
        safe(repo).run_blocking("show", "HEAD:long")


def test_an_output_and_complaints_longer_than_a_pipe_come_whole(repo: Repo) -> None:
    repo.commit("long", long="x" * 500_000)
    assert len(safe(repo).run_blocking("show", "HEAD:long")) == 500_000
    names = [f"missing{number}" for number in range(3_000)]
    with pytest.raises(GitUnavailableError, match=r"git ls-files failed in .*: no file has one of the names"):
        safe(repo).run_blocking("ls-files", "--error-unmatch", *names)


async def test_a_name_that_is_no_utf8_keeps_its_bytes(repo: Repo) -> None:
    (repo.path / os.fsdecode(b"\xff")).write_text("")
    assert os.fsencode(await safe(repo).run("ls-files", "-z", "--others")) == b"\xff\0"


async def test_no_variable_of_this_process_misleads_git(repo: Repo, tmp_path: Path, monkeypatch) -> None:
    other = make_repo(tmp_path / "other")
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))
    assert await safe(repo).run("ls-files") == "a\n"


async def test_a_folder_that_is_gone_is_refused_and_no_other_is_used(repo: Repo, monkeypatch) -> None:
    monkeypatch.chdir(repo.path)
    with pytest.raises(GitUnavailableError, match="gone"):
        await SafeGit(repo.path / "gone", environ=os.environ).run("ls-files")


async def test_without_a_git_command_the_error_says_so(repo: Repo, no_git: dict[str, str]) -> None:
    with pytest.raises(GitMissingError, match="install git"):
        await SafeGit(repo.path, environ=no_git).run("ls-files")


async def test_without_a_git_command_variables_of_this_process_change_no_error(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", "x")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "env").symlink_to(str(shutil.which("env")))
    with pytest.raises(GitMissingError, match="install git"):
        await SafeGit(repo.path, environ={"PATH": str(tmp_path / "bin")}).run("ls-files")


def test_the_version_is_gits_own(tmp_path: Path) -> None:
    assert git_version(tmp_path, os.environ).startswith("git version ")


async def test_git_has_no_terminal(repo: Repo) -> None:
    """Settings that name a program are overridden; this one looks for the terminal of the session in which git works."""
    line = await safe(repo).run("-c", "alias.where=!(: < /dev/tty) 2> /dev/null && echo terminal || echo none", "where")
    assert line == "none\n"


HOSTILE = (
    *(
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "diff.external",
    ),
    *("credential.helper", "pager.diff", "pager.ls-files", "alias.diff", "alias.rev-list", "filter.x.clean"),
    *("filter.x.smudge", "filter.x.process", "diff.x.command", "diff.x.textconv", "merge.x.driver", "gpg.program"),
    *("core.alternateRefsCommand", "uploadpack.packObjectsHook", "interactive.diffFilter", "remote.origin.vcs"),
)


@pytest.mark.fast_cases("ls-files -m")
@pytest.mark.parametrize(
    "command", ["status", "diff", "ls-files -m", "rev-list --all", "for-each-ref", "read-tree HEAD"]
)
async def test_no_program_that_the_settings_name_starts(repo: Repo, tmp_path: Path, command: str) -> None:
    mark = tmp_path / "started"
    repo.commit("attributes", **{".gitattributes": "* filter=x diff=x merge=x\n"})
    for name in HOSTILE:
        repo.git("config", name, f"touch {mark}; cat")
    repo.git("config", "safe.directory", "*")
    repo.write("a", "2\n")
    repository = git_module.Repository(repo.path, repo.path / ".git", repo.path / ".git")
    assert not mark.exists()
    git = safe(repo)
    await git.run(*command.split(), more=await git.without_filters(repository))
    assert not mark.exists()


@pytest.mark.fast_cases("ls-files --others --cached -..")
@pytest.mark.parametrize(
    "command", ["status", "diff", "diff HEAD", "ls-files -m", "ls-files --others --cached --exclude-standard"]
)
async def test_no_program_that_the_settings_of_a_nested_repository_name_starts(
    repo: Repo, tmp_path: Path, command: str
) -> None:
    mark = tmp_path / "started"
    nested = make_repo(repo.path / "nested")
    nested.commit("attributes", **{".gitattributes": "* filter=x diff=x merge=x\n", "b": "1\n"})
    repo.commit("link to the nested repository")
    for name in HOSTILE:
        nested.git("config", name, f"touch {mark}; cat")
    nested.write("b", "2\n")
    mark.unlink(missing_ok=True)
    repository = git_module.Repository(repo.path, repo.path / ".git", repo.path / ".git")
    git = safe(repo)
    await git.run(*command.split(), more=await git.without_filters(repository))
    assert not mark.exists()


SIGNATURES = {
    "gpg.program": "PGP SIGNATURE",
    "gpg.openpgp.program": "PGP SIGNATURE",
    "gpg.x509.program": "SIGNED MESSAGE",
    "gpg.ssh.program": "SSH SIGNATURE",
}
"""Programs that check the signature of a commit, by the words that begin it. Source: gitformat-signature(5), 2.39."""


@pytest.mark.fast_cases("gpg.program-log --oneline", "gpg.openpgp.program-log --oneline")
@pytest.mark.parametrize("command", ["log --format=%s", "log --format=%s -z --max-count=1 HEAD", "log --oneline"])
@pytest.mark.parametrize("name", SIGNATURES)
async def test_no_program_that_checks_signatures_starts(repo: Repo, tmp_path: Path, name: str, command: str) -> None:
    mark = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat >{os.devnull}\nexit 1\n")  # git ends if its text is not read
    program.chmod(0o755)
    for setting, value in ((name, program), ("log.showSignature", "true"), ("gpg.ssh.allowedSignersFile", program)):
        repo.git("config", setting, str(value))
    head, words = repo.git("rev-parse", "HEAD"), SIGNATURES[name]
    signature = f"gpgsig -----BEGIN {words}-----\n \n iQEz\n -----END {words}-----\n"
    who = "A <a@example.com> 1700000000 +0000"
    commit = tmp_path / "commit"
    commit.write_text(
        f"tree {repo.git('write-tree')}\nparent {head}\nauthor {who}\ncommitter {who}\n{signature}\nsigned\n"
    )
    repo.git("update-ref", "HEAD", repo.git("hash-object", "-t", "commit", "-w", str(commit)))
    assert "signed" in await safe(repo).run(*command.split())
    assert not mark.exists()
    repo.git("log", "--max-count=1")
    assert mark.exists()  # git as it is started elsewhere


HOOKED = ("evil", 'a "b" c', "a=b.c", "Großer Hook", "a.event", "reference")
SHOW_HOOKS = "alias.shown=!git config --null --get-regexp '^hook[.]'"


async def test_no_hook_of_the_settings_has_an_event(repo: Repo) -> None:
    """Git 2.54 was the first that runs them; older ones show the settings by which it does not."""
    for name in HOOKED:
        repo.git("config", f"hook.{name}.command", "true")
        for event in ("post-checkout", "reference-transaction", "post-index-change"):
            repo.git("config", "--add", f"hook.{name}.event", event)
    git = safe(repo)
    for more in (
        {},
        await git.without_filters(git_module.Repository(repo.path, repo.path / ".git", repo.path / ".git")),
    ):
        shown = await git.run("-c", SHOW_HOOKS, "shown", more=more)
        last = dict(entry.split("\n", 1) for entry in shown.split("\0") if entry)
        assert {name: last[f"hook.{name}.event"] for name in HOOKED} == dict.fromkeys(HOOKED, "")
    answer = await git.run_for_user("-c", SHOW_HOOKS, "shown")
    assert answer.text.split("\0")[-2] == "hook.reference.event\npost-index-change"


WRITING = (
    "read-tree HEAD", "update-index --force-remove a", "add --all", "reset --hard", "checkout-index --all --index --force",
    "branch new", "update-ref refs/heads/new HEAD", "symbolic-ref HEAD refs/heads/new", "worktree add -b new ../linked",
)  # fmt: skip


@pytest.mark.skipif(
    tuple(map(int, git_version(Path("/"), os.environ).split()[2].split(".")[:2])) < (2, 54),
    reason="git runs hooks of the settings since 2.54",
)
@pytest.mark.parametrize("command", WRITING)
async def test_no_hook_of_the_settings_runs(repo: Repo, tmp_path: Path, command: str) -> None:
    mark = tmp_path / "started"
    for event in ("post-checkout", "reference-transaction", "post-index-change"):
        repo.git("config", f"hook.on-{event}.command", f"touch {mark}; true")
        repo.git("config", f"hook.on-{event}.event", event)
    repo.write("b", "1\n")
    await safe(repo).run(*command.split())
    assert not mark.exists()


async def test_a_folder_that_looks_like_a_bare_repository_is_not_one(repo: Repo, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    repo.git("init", "-q", "--bare", "evil")
    run_git(repo.path / "evil", "config", "core.bare", "false")
    run_git(repo.path / "evil", "config", "core.worktree", str(repo.path))
    run_git(repo.path / "evil", "config", "core.fsmonitor", f"touch {mark}")
    with pytest.raises(GitUnavailableError, match="bare"):
        await safe(repo).run("status", folder=repo.path / "evil")
    assert not mark.exists()
