"""Ordinary work runs in both tiers: git, temp folders, shared memory, and in tier A a server on localhost."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.engine.sandbox.confined import Confined
from tests.support.world.machine import PYTHON

pytestmark = pytest.mark.slow


GIT = "git -c user.email=a@b -c user.name=a"


def run_git(confined: Confined, *words: str, folder: Path | None = None) -> str:
    """Run git outside of the sandbox."""
    command = ["git", "-c", "user.email=a@b", "-c", "user.name=a", *words]
    environ = confined.policy.environ
    cwd = folder or confined.project
    return subprocess.run(command, cwd=cwd, env=environ, check=True, capture_output=True, text=True).stdout


def make_repository(confined: Confined, *tracked: str) -> None:
    """Make a repository with protected settings and hooks, and hide its `.env`."""
    project = confined.project
    run_git(confined, "init", "-q", "-b", "main")
    (project / ".git/hooks").mkdir(exist_ok=True)
    (project / "a").write_text("a\n")
    (project / ".env").write_text("K=SECRET\n")
    run_git(confined, "add", "a", *tracked)
    run_git(confined, "commit", "-qm", "first")
    confined.limit(read_only=(project / ".git/config", project / ".git/hooks"), hidden=(project / ".env",))


def all_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_git_commits_stashes_rebases_and_makes_worktrees(confined: Confined) -> None:
    make_repository(confined)
    (confined.project / ".gitignore").write_text(".env\n")
    ended, output = confined.run(
        f'set -e; git() {{ command {GIT} "$@"; }}; '
        "git add -A; git commit -qm second; git switch -qc side HEAD~1; echo b > b; git add b; git commit -qm side; "
        "git rebase -q main; echo c >> a; git stash -q; git stash pop -q; git commit -qam third; git branch -f old HEAD~1; "
        "git worktree add -q tree old; git worktree remove tree; git gc -q; git log --format=%s"
    )
    assert (ended.exit_code, output) == (0, "third\nside\nsecond\nfirst\n")
    assert run_git(confined, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize(
    "command", ["git add -A && git commit -qm x", "git commit -qam x", "git stash", "git add .env"]
)
def test_a_tracked_hidden_file_keeps_its_bytes(bubblewrap: Confined, command: str) -> None:
    make_repository(bubblewrap, ".env")
    (bubblewrap.project / "a").write_text("changed\n")
    ended, output = bubblewrap.run(command.replace("git commit", f"{GIT} commit"))
    assert ended.exit_code != 0
    assert ".env" in output
    assert run_git(bubblewrap, "show", "HEAD:.env") == "K=SECRET\n"
    assert (bubblewrap.project / ".env").read_text() == "K=SECRET\n"


def test_an_untracked_hidden_file_is_never_added_as_an_empty_one(bubblewrap: Confined) -> None:
    make_repository(bubblewrap)
    ended, output = bubblewrap.run(f"git add -A && {GIT} commit -qm x")
    assert (ended.exit_code, ".env" in output) == (128, True)
    assert run_git(bubblewrap, "ls-files").split() == ["a"]


@pytest.mark.parametrize("reader", ["cat .env", "head -c 1 < .env", f"{PYTHON} -c 'open(\".env\")'", "cp .env x"])
def test_reading_a_hidden_file_fails_with_permission_denied(bubblewrap: Confined, reader: str) -> None:
    make_repository(bubblewrap)
    ended, output = bubblewrap.run(reader)
    assert ended.exit_code == 1
    assert "Permission denied" in output or "cannot create special file" in output


def test_a_hidden_folder_can_neither_be_listed_nor_filled(bubblewrap: Confined) -> None:
    folder = bubblewrap.project / "keys"
    folder.mkdir()
    (folder / "key").write_text("SECRET")
    bubblewrap.limit(hidden=(folder,))
    ended, output = bubblewrap.run("ls keys; cat keys/key; touch keys/new; chmod 700 keys; ls keys")
    assert ended.exit_code == 2
    assert "SECRET" not in output
    assert all_files(bubblewrap.project) == {"keys", "keys/key"}


def test_nothing_appears_on_the_real_disk(bubblewrap: Confined) -> None:
    make_repository(bubblewrap)
    missing = tuple(bubblewrap.project / name for name in (".husky", ".envrc", ".git/info/nothing"))
    (bubblewrap.home / ".gitconfig").write_text("[core]\n")
    policy = bubblewrap.policy
    bubblewrap.limit(
        read=(*policy.read, bubblewrap.home / ".gitconfig", bubblewrap.base / "missing"),
        write=(*policy.write, bubblewrap.base / "missing too"),
        read_only=policy.read_only + missing,
        hidden=(*policy.hidden, bubblewrap.project / "sub/.env"),
    )
    before = all_files(bubblewrap.base)
    ended, output = bubblewrap.run("git status --short; cat ~/.gitconfig")
    assert (ended.exit_code, output) == (0, "?? .env\n[core]\n")
    made = {bubblewrap.base / name for name in all_files(bubblewrap.base) - before}
    assert not [path for path in made if path.parent != bubblewrap.temp or not path.is_dir() or os.listdir(path)]


def test_the_temp_folder_is_tmp_in_tier_a(bubblewrap: Confined) -> None:
    ended, output = bubblewrap.run("echo $TMPDIR; echo kept > /tmp/file; mktemp > /dev/null && touch /tmp/x/y")
    assert (ended.exit_code, output.splitlines()[0]) == (1, "/tmp")
    assert (bubblewrap.temp / "file").read_text() == "kept\n"
    assert bubblewrap.run("cat /tmp/file")[1] == "kept\n"


def test_the_temp_folder_is_named_in_tier_b(landlock: Confined) -> None:
    ended, output = landlock.run('echo "$TMPDIR"; f=$(mktemp) && echo x > "$f" && rm "$f"')
    assert (ended.exit_code, output) == (0, f"{landlock.temp}\n")


def test_multiprocessing_has_shared_memory_and_locks(confined: Confined) -> None:
    (confined.project / "job.py").write_text(
        "from multiprocessing import Lock, Pool, shared_memory\n"
        "if __name__ == '__main__':\n"
        "    lock = Lock()\n"
        "    memory = shared_memory.SharedMemory(create=True, size=9)\n"
        "    with lock, Pool(2) as pool: print(pool.map(abs, [-1, 2]))\n"
        "    memory.unlink()\n"
    )
    assert confined.run(f"{PYTHON} job.py")[1] == "[1, 2]\n"


def test_a_server_on_localhost_works_in_tier_a(bubblewrap: Confined) -> None:
    (bubblewrap.project / "index.html").write_text("served")
    (bubblewrap.project / "job.py").write_text(
        "import http.server, threading, urllib.request\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "server.RequestHandlerClass.log_message = lambda *words: None\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "print(urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/index.html').read())\n"
    )
    assert bubblewrap.run(f"{PYTHON} job.py")[1] == "b'served'\n"


def test_a_socket_is_refused_in_tier_b(landlock: Confined) -> None:
    ended, output = landlock.run(f"{PYTHON} -c 'import socket; socket.socket()'")
    assert ended.exit_code == 1
    assert output.endswith("PermissionError: [Errno 1] Operation not permitted\n")


def test_the_network_can_be_allowed(confined: Confined) -> None:
    confined.limit(network="full")
    assert confined.run(f"{PYTHON} -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'")[0].exit_code == 0


def test_a_readable_folder_inside_the_project_stays_writable(confined: Confined) -> None:
    tools = confined.project / ".venv/bin"
    tools.mkdir(parents=True)
    confined.limit(read=(*confined.policy.read, tools))
    assert confined.run("touch .venv/bin/x")[0].exit_code == 0


def test_a_project_that_is_only_readable_cannot_be_written(confined: Confined) -> None:
    confined.limit(read=(*confined.policy.read, confined.project), write=(confined.temp,))
    (confined.project / "a").write_text("a")
    ended, output = confined.run("cat a; touch b; echo x > a")
    assert ended.exit_code == 1
    assert output.startswith("a")
    assert all_files(confined.project) == {"a"}


def test_programs_are_reached_by_links_on_path_and_in_the_root(confined: Confined) -> None:
    tools = confined.base / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho hello\n")
    (tools / "hello").chmod(0o755)
    link = confined.base / "link"
    link.symlink_to("tools")
    environ = {**confined.policy.environ, "PATH": f"{link}{os.pathsep}{confined.policy.environ['PATH']}"}
    confined.limit(read=(*confined.policy.read, tools), environ=environ)
    assert confined.run("hello; /bin/echo again")[1] == "hello\nagain\n"


def test_the_starting_process_stays_unconfined(landlock: Confined) -> None:
    landlock.run("true")
    (landlock.outside / "file").write_text("x")
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()
    assert "Seccomp:\t0" in Path("/proc/thread-self/status").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot read it anyway")
def test_passwords_of_the_system_cannot_be_read_by_root(bubblewrap: Confined) -> None:
    ended, output = bubblewrap.run("cat /etc/shadow /etc/gshadow")
    assert (ended.exit_code, output.count("Permission denied")) == (1, 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of another user")
def test_root_can_work_in_a_project_of_another_user(confined: Confined) -> None:
    file = confined.project / "file"
    file.write_text("a")
    for path in (confined.project, file):
        os.chown(path, 4242, 4242)
    file.chmod(0o600)
    assert confined.run("echo b > file && touch new && chown 4242 new")[0].exit_code == 0
    assert (file.read_text(), (confined.project / "new").stat().st_uid) == ("b\n", 4242)


def test_pseudo_terminals_work_where_they_are_separate_from_the_users(confined: Confined) -> None:
    ended, output = confined.run(f"{PYTHON} -c 'import pty; pty.openpty()'")
    assert (ended.exit_code == 0) == (confined.tier == "bubblewrap"), output
