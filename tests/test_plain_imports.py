"""Libraries are imported as their documentation shows: whole, by Python's own import, where a command needs them."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.network_world import make_authority, open_proxy, open_tls
from tests.support.rows import each
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

_CHECKED = """
import builtins, dataclasses, json, sys
names = (builtins.__import__, dataclasses.dataclass, [*sys.meta_path])
from opencode_tui.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert (builtins.__import__, dataclasses.dataclass, [*sys.meta_path]) == names
for name, module in list(sys.modules.items()):
    assert module is not None, f"{name} is kept from being imported"
    own = vars(module).get("__builtins__", builtins)
    assert own in (builtins, vars(builtins)), f"{name} has builtins of its own"
"""
"""Runs the program, and fails where it has changed how this Python imports."""


@pytest.mark.slow  # starts Python anew
@each(
    ("arguments", "libraries"),
    [
        (["run", "-m", "fake/fake-model", "hello"], ["filelock", "httpcore"]),
        (["session", "list"], ["platformdirs"]),
        (["debug", "config"], []),
    ],
)
def test_a_command_imports_whole_libraries_by_pythons_own_import(
    tmp_path: Path, environ: dict[str, str], arguments: list[str], libraries: list[str]
) -> None:
    folder = make_repo(tmp_path / "project").path
    with ModelServer() as server:
        line = CommandLine(folder, _without_folders(environ), provider=provider_config(server.base_url))
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", _CHECKED, *arguments],
            cwd=folder,
            env=line.variables(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    imported = {one.rpartition("|")[2].strip() for one in done.stderr.splitlines() if one.startswith("import time:")}
    assert [name for name in libraries if name not in imported] == []


def _without_folders(environ: dict[str, str]) -> dict[str, str]:
    """Return the environment without the variables for folders, so that platformdirs names them."""
    return {name: value for name, value in environ.items() if not name.startswith("XDG_")}


@pytest.mark.slow  # starts Python anew
def test_gitpython_is_imported_whole_with_the_git_that_was_found(tmp_path: Path, environ: dict[str, str]) -> None:
    code = (
        "import os, sys; from pathlib import Path; from opencode_tui.engine.project.git import SafeGit\n"
        "from opencode_tui.programs import find_program\n"
        "print(SafeGit(Path.cwd(), environ=os.environ).run_blocking('--version'))\n"
        "import git; assert git.Git.GIT_PYTHON_GIT_EXECUTABLE == find_program('git', os.environ, Path.cwd()) and git.Repo\n"
        "assert not [name for name in os.environ if name.startswith('GIT_PYTHON_')]\n"
    )
    variables = {**environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout[:11]) == (0, "", "git version")


def test_a_git_that_cannot_run_is_our_error_and_not_one_of_an_import(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n[ $# = 1 ] && [ -e first ] && exit 1\n: > first\n")
    (tmp_path / "git").chmod(0o755)
    code = (
        "import os; from pathlib import Path; from opencode_tui.engine.project.git import SafeGit\n"
        "from opencode_tui.schema.error import GitUnavailableError\n"
        "try:\n    SafeGit(Path.cwd(), environ=os.environ).run_blocking('--version')\n"
        "except GitUnavailableError as error:\n    print(error)\n"
    )
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "work",
        env={**environ, "PATH": f"{tmp_path}{os.pathsep}{environ['PATH']}", "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout.startswith("cannot run git in ")) == ("", True), done.stdout


@pytest.mark.parametrize("through_proxy", [False, True], ids=["directly", "through a proxy"])
def test_a_prompt_is_sent_over_tls(tmp_path: Path, environ: dict[str, str], *, through_proxy: bool) -> None:
    authority = make_authority(tmp_path, "api.company.test")
    with ModelServer() as server, ExitStack() as opened:
        port = opened.enter_context(open_tls(authority, urlsplit(server.base_url).port or 0))
        variables = {**environ, "SSL_CERT_FILE": str(authority.path)}
        place = f"127.0.0.1:{port}"
        if through_proxy:
            proxy = opened.enter_context(open_proxy({"api.company.test": port}))
            variables |= {"HTTPS_PROXY": proxy.url, "NO_PROXY": ""}
            place = "api.company.test"
        line = CommandLine(
            tmp_path, variables, provider=provider_config(f"https://{place}{urlsplit(server.base_url).path}")
        )
        done = line.turn("hello")
    assert done.code == 0 and server.requests, done.stderr
