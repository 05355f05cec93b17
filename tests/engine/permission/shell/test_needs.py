"""What needs the outside of the sandbox, and what discards work at large, is named in a sentence."""

import re
from pathlib import Path

import pytest

from opencode_tui.engine.permission.shell import needs
from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.operands import find_spec
from opencode_tui.engine.permission.shell.programs import find_analyzer
from opencode_tui.engine.permission.shell.scan import scan
from opencode_tui.engine.permission.shell.words import rows
from tests.support.rows import each
from tests.support.shell.world import HOME, PROJECT, scanned


@each(
    ("command", "kinds"),
    [
        ("curl -s https://example.com", ["network"]),
        ("timeout 5 wget http://h", ["network"]),
        ("echo x > /dev/tcp/h/80", ["network"]),
        ("npm --prefix web ci", ["install"]),
        ("yarn", ["install"]),
        ("uv pip install x", ["install"]),
        ("pip3.11 install requests", ["install"]),
        ("git push origin main", ["remote"]),
        ("git -C src pull", ["remote"]),
        ("git push -u origin main", ["remote", "config"]),
        ("git config user.name x", ["config"]),
        ("git branch -d x", ["config"]),
        ("docker compose up", ["container"]),
        ("sudo true", ["root"]),
        ("systemctl status x", ["service"]),
        ("pkill -f node", ["signal"]),
        ("kill -9 -1", ["signal"]),
        ("kill $(lsof -t -i:3000)", ["signal"]),
        ("cat ~/.ssh/id_rsa", ["path"]),
        ("sed -i s/a/b/ /etc/hosts", ["path"]),
        ("mvn -s /home/x/settings.xml test", ["path"]),
        ("find . -name x | xargs curl", ["network"]),
        ("bash -c 'npm install'", ["install"]),
        (".venv/bin/pip install x", ["install"]),
        (".venv/bin/python -m pip install x", ["install"]),
        ("node_modules/.bin/vercel deploy", ["remote"]),
        ("./gradlew clean publish", ["remote"]),
        ("./mvnw -B deploy", ["remote"]),
        ("mvn clean deploy", ["remote"]),
        ("mvn release:perform", ["remote"]),
        ("python3 -u -m pip install x", ["install"]),
        ("python3 -W ignore -mpip install x", ["install"]),
        ("python3 -m twine upload dist/x", ["remote"]),
        ("npm init vite", ["install"]),
        ("npm exec --yes x", ["install"]),
        ("bun x create-next-app", ["install"]),
        ("dart pub publish", ["remote"]),
        ("cabal upload x.tar.gz", ["remote"]),
        ("sbt clean +publishSigned", ["remote"]),
        ("openssl s_client -connect h:443", ["network"]),
        ("gpg --recv-keys A", ["network"]),
        ("packer build x.hcl", ["remote"]),
        ("lsof -ti:3000 | xargs kill -9", ["signal"]),
        ("fuser -vk 3000/tcp", ["signal"]),
        ("fuser --kill x", ["signal"]),
    ],
)
def test_what_needs_the_outside(command: str, kinds: list[str]) -> None:
    assert [reason.kind for reason in scanned(command).outside] == kinds


@each(
    "command",
    [
        "npm test", "npm run build", "npx eslint .", "pip list", "uv run pytest", "cargo build", "go test ./...",
        "git fetch --help", "git remote -v", "git config user.name", "git branch -a", "git status", "sleep 9 & kill $!",
        "mvn -o -s /etc/maven/settings-debian.xml compile",
        "ls /usr/include", "echo x > /tmp/x", "grep curl README.md", "echo git push", "rm -f src/a.py", "rm -rf dist",
        "git checkout src/a.py", "git restore src/a.py", "git reset HEAD src/a.py", "git stash pop", "git clean -n",
        "find . -name '*.pyc' -delete", "find . -name '*.pyc' -exec rm {} +", "find . -not -path './.git/*' -name x -delete",
        "find . -path ./.git -prune -o -name x -exec rm {} +", "find . -name .git", ".venv/bin/python -m pytest",
        ".venv/bin/pip list", "node_modules/.bin/tsc", "./gradlew build", "python3 -u src/a.py", "python3 -c 1 -m pip install x",
        "python3 src/a.py -m pip install x", "npm init -y", "npm exec tsc", "dart pub deps", "./start", "fuser 3000/tcp", "kill -l",
        "openssl req -x509 -subj /CN=x -out c.pem", "openssl dgst README.md", "bazel test //...", "bazel build //src:a",
        "git check-ignore -v .env", "git ls-files .env", "ssh -V", "npm install --help",
    ],
)  # fmt: skip
def test_what_runs_inside_without_a_question(command: str) -> None:
    scan = scanned(command)
    assert (scan.outside, scan.discards) == ([], [])


@each(
    "command",
    [
        "git push --force", "git push -f", "git push origin +main", "git reset --hard", "git reset --har HEAD~1",
        "git clean -fdx", "git checkout -- .", "git checkout .", "git restore .", "git branch -D x", "git branch -d -f x",
        "git stash drop", "git stash clear", "git rebase -i HEAD~3", "git reflog expire --all", "git gc --prune=now",
        "find . -exec rm -rf {} +", "find . -name .git -exec rm -rf {} +", "find . -type d -name '.g*' -exec rm -r {} ;",
        "find . -path './.git/*' -delete", "find .git -name x -delete", "find . -name '*' -delete",
        "git filter-branch -f", "rm -rf .git", "rm -r .", "rm -rf *", "rm -rf src", "find . -delete", "shred README.md",
        "timeout 5 git -C src reset --hard", "ls src\n\\git reset --hard", "bash -c 'git clean -fd'",
    ],
)  # fmt: skip
def test_what_discards_at_large(command: str) -> None:
    assert scanned(command).discards


def test_a_reason_is_a_sentence_and_names_its_command() -> None:
    [reason] = scanned("ls; cat ~/.ssh/id_rsa").outside
    assert (reason.words, reason.command) == (
        "Reads ~/.ssh/id_rsa, which is outside of the project.",
        "cat ~/.ssh/id_rsa",
    )


def test_paths_inside_are_named_with_their_use() -> None:
    inside = scanned("cat README.md; sed -i s/a/b/ src/a.py; echo x > new").inside
    assert [(path.path, path.mode) for path in inside] == [
        ("/home/u/proj/README.md", "r"),
        ("/home/u/proj/src/a.py", "rw"),
        ("/home/u/proj/new", "w"),
    ]


def test_files_with_secrets_that_are_read_with_a_whole_folder_are_separate() -> None:
    named, swept = scanned("cat .env"), scanned("grep -r KEY .")
    assert (named.sensitive, named.swept) == (["/home/u/proj/.env"], [])
    assert (swept.sensitive, swept.swept) == (["/home/u/proj/.env"], ["/home/u/proj/.env"])
    assert scanned("grep -r --include='*.py' KEY .").sensitive == []


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        (".venv/bin/python -m pytest", []),
        ("cat .venv/bin/python", ["path"]),
        ("~/tools/run x", ["path"]),
        ("uv run --offline --python .venv/bin/python pytest", []),
        (".venv/bin/tox --discover .venv/bin/python", []),
        (".venv/bin/tox --discover .venv/bin/other", ["path"]),
        ("other/bin/tox --discover other/bin/python", ["path"]),
        ("cp a .venv/bin/python", ["path"]),
        (".venv/bin/tox > .venv/bin/python", ["path"]),
    ],
)
def test_the_interpreter_of_a_virtual_environment_is_no_path_outside(command: str, kinds: list[str]) -> None:
    files = VirtualFileSystem(
        PROJECT,
        files=[".venv/bin/pip", ".venv/pyvenv.cfg", "other/bin/tox"],
        symlinks={
            ".venv/bin/python": f"{HOME}/.pyenv/bin/python3",
            ".venv/bin/other": f"{HOME}/.pyenv/bin/other",
            "other/bin/python": f"{HOME}/.pyenv/bin/python2",
        },
    )
    found = scan(command, cwd=PROJECT, home=HOME, project_root=PROJECT, filesystem=files)
    assert [reason.kind for reason in found.outside] == kinds


def test_every_finding_has_one_row_whose_programs_have_the_analyzer() -> None:
    """An analyzer that names a finding without a row would end a scan; a row that no analyzer names says nothing."""
    sources = "".join(file.read_text() for file in Path(needs.__file__).parent.glob("*.py"))
    named = set(re.findall(r"(?:\.found|need_found)\(\"([a-z-]+)\"", sources))
    table = [row for row in rows("needs.txt", 5) if row[3].startswith("found=")]
    assert {row[3].removeprefix("found=") for row in table} == named
    assert len(table) == len(named) >= 9
    programs = {name for row in table for name in row[1].split() if name[0] != "/"}
    assert [name for name in programs if not (find_analyzer(name.partition(".")[0]) or find_spec(name))] == []


def test_every_analyzer_has_a_row() -> None:
    for function, programs in rows("analyzers.txt", 2):
        found = [find_analyzer(name) for name in programs.split()]
        assert {one.__name__ for one in found if one is not None} == {function}
    assert find_analyzer("no-such-program") is None
