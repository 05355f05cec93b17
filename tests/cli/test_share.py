"""`share`, `unshare`, `run --share` and `share serve` as a user calls them, against the real server in a process of its own."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def server(tmp_path: Path, environ: dict[str, str]) -> Iterator[str]:
    """The address of a running share server."""
    command = [
        sys.executable,
        "-m",
        "opencode_tui",
        "share",
        "serve",
        "--port",
        "0",
        "--data",
        str(tmp_path / "shares"),
    ]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"share server listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert match is not None, line
        yield match[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.fixture
def sharing(commands, server: str):
    """The command line with the server in its settings."""
    commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"enterprise": {"url": server}})
    return commands


def _data(url: str) -> list[dict]:
    answer = httpx.get(url.replace("/share/", "/api/share/") + "/data", trust_env=False, timeout=PATIENCE_S)
    return answer.json() if answer.status_code == 200 else []


@pytest.mark.slow
def test_a_session_is_shared_by_its_link_and_unshared(sharing, session_id: str, server: str):
    done = sharing.run("share", session_id)
    assert (done.code, done.stdout.startswith(f"{server}/share/")) == (0, True)
    url = done.stdout.strip()
    assert "for the first time" in done.stderr and "Everyone who has the link" in done.stderr
    assert "list this folder" in json.dumps(_data(url))
    page = httpx.get(url, trust_env=False, timeout=PATIENCE_S)
    assert page.status_code == 200 and "list this folder" in page.text
    again = sharing.run("share")
    assert (again.stdout.strip(), again.stderr) == (url, "")
    assert sharing.run("unshare", session_id).stdout == f"{session_id} is no longer shared\n"
    assert _data(url) == []
    assert sharing.run("unshare", session_id).stdout == f"{session_id} was not shared\n"


@pytest.mark.slow
def test_run_with_share_prints_the_link_and_has_sent_everything_at_its_end(sharing):
    done = sharing.run("run", "--share", "list this folder")
    assert done.code == 0
    url = re.search(r"shared: (http\S+)", done.stderr)
    assert url is not None
    data = _data(url[1])
    answers = [one["data"]["text"] for one in data if one["type"] == "part" and one["data"]["type"] == "text"]
    assert answers[0] == "list this folder" and len(answers) > 1


@pytest.mark.slow
def test_a_run_goes_on_when_the_server_is_away(commands):
    commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"enterprise": {"url": "http://127.0.0.1:9"}})
    done = commands.run("run", "--share", "list this folder")
    assert done.code == 0 and "not shared: the share server 127.0.0.1:9 cannot be reached" in done.stderr
    assert done.stdout


@pytest.mark.slow
def test_without_a_server_share_explains_and_suggests_an_export(commands, session_id: str):
    done = commands.run("share", session_id)
    assert done.code == 1 and "enterprise.url" in done.stderr and "export --html" in done.stderr


def test_the_help_names_both_commands(commands):
    shown = commands.run("share", "--help").stdout
    assert "serve" in shown and "session" in shown
    assert "--ttl" in commands.run("share", "serve", "--help").stdout
