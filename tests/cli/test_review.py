"""`opencode-tui review` prints findings as text, JSON or a review for GitHub, and changes nothing."""

import json
from pathlib import Path

import pytest

from tests.client.test_findings import FOUND
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


def test_findings_are_printed_in_each_format(environ: dict[str, str], tmp_path: Path) -> None:
    with ModelServer() as server:
        _check(environ, tmp_path, server)


def _check(environ: dict[str, str], tmp_path: Path, server: ModelServer) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit("first", **{"a.py": "one\nmore\n"})
    repo.write("a.py", "\x1b[2Jtwo\nother\n")
    found = {
        **FOUND,
        "findings": [*FOUND["findings"], {"file": "a.py", "line": 9, "severity": "note", "text": "\x1b[2J"}],
    }
    line = CommandLine(repo.path, environ, provider=server.config())
    for style in ("text", "json", "github"):
        server.script(Answer(calls=(Call("StructuredOutput", found),)))
        done = line.run("review", "--format", style, "-m", "fake/fake-model")
        assert done.code == 0, done.stderr
        assert "\x1b" not in done.stdout
        if style == "text":
            assert done.stdout.startswith("a.py:1: error: Divides by zero for n = 0.\na.py:2: note: Name it.\n")
            assert done.stderr.endswith("3 findings\n")
        elif style == "json":
            assert [one["severity"] for one in json.loads(done.stdout)["findings"]] == ["error", "note", "note"]
        else:
            assert [one["line"] for one in json.loads(done.stdout)["comments"]] == [1, 2]
    assert repo.git("status", "--porcelain") == " M a.py"
    refused = line.run("review", "--", "--output=evil")
    assert refused.code != 0 and "no commit" in refused.stderr and not (repo.path / "evil").exists()
