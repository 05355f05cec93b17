"""Every command of the documentation runs, in the order of its page, in a new home and a small project.

A block with a title such as "needs a key" is left out: it says what a test does not have. `ID` stands for the newest session.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.rows import each
from tests.support.source.pages import ROOT, Block, blocks, names
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.timeout(300)
"""A page is a series of up to ten processes, each a turn of the demo; beside other work one takes some seconds."""

NEEDS = (
    "installs other agents from package indexes",
    "needs a key",
    "needs a package index",
    "needs a server",
    "needs a terminal",
    "needs certificates and other machines",
    "needs instances and checkouts",
    "needs jq",
    "needs npx and the network",
    "needs sessions of other programs",
    "opens the browser",
    "runs until ctrl+c",
    "takes an hour",
)
"""Titles of the blocks that are not run."""

_RUN = re.compile(r"^ *```sh$", re.MULTILINE)
PAGES = [name for name in names() if _RUN.search((ROOT / name).read_text("utf-8"))]
"""Pages with a block that is run, by their texts: each process of the tests imports this, and the parser takes longer."""


def run_blocks(name: str) -> list[Block]:
    """Return the blocks of a page that are run."""
    return [block for block in blocks(name) if block.language == "sh" and not block.title]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_runs(name: str, tmp_path: Path, environ: dict[str, str]) -> None:
    repo = make_repo(tmp_path / "project")
    repo.write("README.md", "# Example\n\nA small project.\n")
    repo.commit("begin")
    variables = {**environ, "PATH": f"{program(tmp_path)}{os.pathsep}{environ['PATH']}"}
    for block in run_blocks(name):
        done = run(block.text, repo.path, variables)
        assert done.returncode == 0, f"{block.place}\n{block.text}\n{done.stdout}\n{done.stderr}"


@each("name", names())
def test_a_block_that_is_not_run_says_what_it_needs(name: str) -> None:
    assert [block.place for block in blocks(name) if block.language == "sh" and block.title not in ("", *NEEDS)] == []


def test_most_pages_for_users_have_commands_that_run() -> None:
    found = {name: run_blocks(name) for name in names()}
    assert [name for name in found if found[name]] == PAGES
    assert len(PAGES) >= 10
    assert sum(len(commands(block)) for name in PAGES for block in found[name]) >= 40


def program(folder: Path) -> Path:
    """Make a folder with the program under its name, and return the folder."""
    made = folder / "bin"
    made.mkdir()
    (made / "opencode-tui").write_text(
        f'#!/bin/sh\nPYTHONPATH={PACKAGE_ROOT} exec {sys.executable} -m opencode_tui "$@"\n'
    )
    (made / "opencode-tui").chmod(0o755)
    return made


def run(text: str, folder: Path, variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    if re.search(r"\bID\b", text):
        listed = bash("opencode-tui session list -n 1 --format json", folder, variables)
        if not json.loads(listed.stdout):
            bash('opencode-tui run --auto "create made.txt with hello"', folder, variables)
            listed = bash("opencode-tui session list -n 1 --format json", folder, variables)
        text = re.sub(r"\bID\b", json.loads(listed.stdout)[0]["id"], text)
    return bash(text, folder, variables)


def bash(text: str, folder: Path, variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    command = ["bash", "-euo", "pipefail", "-c", text]
    return subprocess.run(
        command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240
    )


def commands(block: Block) -> list[str]:
    return [line for line in block.text.splitlines() if line and not line.startswith("#")]
