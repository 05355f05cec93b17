"""Real programs that the sandbox refuses are recognized in each tier; ordinary failures are not."""

import re
import shutil
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.refusal import find_refusal
from tests.engine.sandbox.confined import Confined
from tests.support.world.repo import make_repo

REFUSED = {
    "cat": "cat {outside}/secret",
    "touch": "touch {outside}/new",
    "redirection": "echo x > {outside}/new",
    "mkdir": "mkdir -p {outside}/a/b",
    "cp": "cp a.txt {outside}/new",
    "mv": "mv a.txt {outside}/new",
    "rm": "rm {outside}/secret",
    "tee": "echo x | tee {outside}/new; test -e {outside}/new",
    "tar": "tar -C {outside} -cf - .",
    "sed": "sed -i s/a/b/ {outside}/secret",
    "python": "python3 -c \"open('{outside}/new', 'w')\"",
    "python os.rename": "python3 -c \"import os; os.rename('a.txt', '{outside}/new')\"",
    "python pathlib": "python3 -c \"import pathlib; print(pathlib.Path('{outside}/secret').read_text())\"",
    "perl": "perl -e \"open(F, '>', '{outside}/new') or die '{outside}/new: ' . \\$!\"",
    "node": "node -e \"require('fs').writeFileSync('{outside}/new', '')\"",
    "git clone": "git clone -q {outside}/repository copy",
    "sqlite3": "sqlite3 {outside}/data.db 'create table t(a)'",
    "gcc": "echo 'int main(void){{return 0;}}' > m.c && gcc m.c -o {outside}/m",
    "make": "printf 'all:\\n\\techo x > {outside}/new\\n' > Makefile && make",
    "ls": "ls {outside}",
    "ls of a parent": "ls ../outside",
    "curl": "curl -sS -m 5 http://example.com/",
    "wget": "wget -q -T 5 -t 1 -O - http://example.com/ || wget -T 5 -t 1 -O - http://example.com/",
    "git fetch": "git init -q r && git -C r fetch https://example.com/a.git",
    "ssh": "ssh -o BatchMode=yes -o ConnectTimeout=3 example.com true",
    "go": 'GOPROXY=http://example.com GOCACHE="$TMPDIR/c" GOPATH="$TMPDIR/g" go install example.com/x@v1.0.0',
    "rm of .git": "rm -rf .git",
    "npm": "npm view --fetch-retries=0 left-pad version",
    "urllib": "python3 -c \"import urllib.request as u; u.urlopen('http://example.com', timeout=3)\"",
    "socket": "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 3)\"",
    "node fetch": "node -e \"fetch('http://example.com').catch(error => {{ console.error(error.cause); process.exit(1) }})\"",
    "git hooks": "echo x > .git/hooks/post-commit",
    "git config": "git config user.name x",
}
OPEN_IN_LANDLOCK = {"git hooks", "git config", "rm of .git"}
"""What Landlock cannot refuse."""

ORDINARY = {
    "missing file": "cat missing.txt",
    "missing folder": "cd missing && ls",
    "missing command": "no-such-program --version",
    "missing absolute": "cat {project}/missing/file",
    "missing system file": "cat /etc/no-such-file",
    "missing everywhere": "cat /no/such/folder/at/all",
    "mode 000": "echo 'cat: a.txt: Permission denied'; exit 1",
    "mode 000 in python": "echo \"PermissionError: [Errno 13] Permission denied: '{project}/a.txt'\"; exit 1",
    "not executable": "./a.txt",
    "failing test": "python3 -m unittest discover -s . -p 'test_*.py'",
    "assertion": "python3 -c 'assert 1 == 2, \"connection refused is expected\"'",
    "import error": "python3 -c 'import no_such_module'",
    "file not found in python": "python3 -c \"open('missing.txt')\"",
    "syntax error": "python3 -c 'x ='",
    "compile error": "echo 'int main(void) {{ return x; }}' > m.c && gcc m.c",
    "missing header": "echo '#include <nothere.h>' > m.c && gcc m.c",
    "make without a target": "make nothing",
    "failing make": "printf 'all:\\n\\tfalse\\n' > Makefile && make",
    "git merge conflict": "git checkout -q missing-branch",
    "git outside of a repository": "mkdir n && cd n && GIT_CEILING_DIRECTORIES={project} git log",
    "git commit without changes": "git commit -qm x",
    "node error": "node -e \"require('./missing')\"",
    "node read": "node -e \"require('fs').readFileSync('missing.txt')\"",
    "npm script": 'echo \'{{"scripts": {{"test": "exit 3"}}}}\' > package.json && npm test',
    "grep without a match": "grep -r nothing-like-this .",
    "diff": "diff a.txt test_a.py",
    "rmdir": "mkdir -p d/e && rmdir d",
    "local service": "python3 -c \"import sys; sys.exit('connect to localhost:5432 failed: Connection refused')\"",
    "local address": "echo 'dial tcp 127.0.0.1:8080: connect: connection refused'; exit 1",
    "http answer": "echo 'error: 404 Not Found for url: https://example.com/x'; exit 1",
    "offline": "echo 'error: failed to download https://example.com/x: --offline was specified'; exit 1",
    "exit code": "exit 3",
}


@pytest.fixture(scope="module")
def git_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the git folder of a repository with a commit."""
    repo = make_repo(tmp_path_factory.mktemp("repository"))
    repo.commit("first")
    return repo.path / ".git"


@pytest.fixture
def world(confined: Confined, git_folder: Path) -> Confined:
    """Return a project with a few files, and a folder outside with others."""
    (confined.project / "a.txt").write_text("a\n")
    (confined.project / "test_a.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        open('missing')\n"
    )
    (confined.outside / "secret").write_text("a\n")
    for folder in (confined.project, confined.outside / "repository"):
        shutil.copytree(git_folder, folder / ".git")
    git = confined.project / ".git"
    confined.limit(read_only=(git / "config", git / "hooks"))
    return confined


PROGRAMS = ("curl", "gcc", "git", "go", "make", "node", "npm", "perl", "python3", "sqlite3", "ssh", "wget")
NEEDS = {"npm": ("npm", "node")}


def require_programs(text: str) -> None:
    """Skip the test if a program of its command line, or what that needs, is not installed."""
    words = re.findall(r"[\w-]+", text)
    for name in (need for program in PROGRAMS if program in words for need in NEEDS.get(program, (program,))):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_recognized(world: Confined, name: str) -> None:
    if world.tier == "landlock" and name in OPEN_IN_LANDLOCK:
        pytest.skip("Landlock cannot leave out a file of a writable folder")
    text = REFUSED[name].format(outside=world.outside)
    require_programs(text)
    ended, output = world.run(text)
    refusal = find_refusal(world.tier, ended.exit_code, output, world.policy)
    assert refusal is not None, f"{ended}\n{output}"
    if "{outside}" in REFUSED[name]:
        assert refusal.path is None or refusal.path.startswith(str(world.outside)), refusal
    elif "example.com" in text:
        assert refusal.host in ("example.com", None), refusal


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_failure_asks_nothing(world: Confined, name: str) -> None:
    require_programs(ORDINARY[name])
    ended, output = world.run(ORDINARY[name].format(project=world.project))
    assert ended.exit_code not in (0, None), output
    assert find_refusal(world.tier, ended.exit_code, output, world.policy) is None, output


def test_a_command_that_succeeded_was_not_refused(world: Confined) -> None:
    ended, output = world.run(f"cat {world.outside}/secret; true")
    assert output
    assert find_refusal(world.tier, ended.exit_code, output, world.policy) is None
