"""`debug bash-scan`: one JSON line for each, in order."""

import json

from click.testing import CliRunner

from opencode_tui.cli.commands.debug.bash_scan import bash_scan

WORLD = {"cwd": "/home/u/proj", "home": "/home/u", "project_root": "/home/u/proj", "symlinks": {}, "files": ["a"]}


def test_answers_come_in_order_with_every_field() -> None:
    questions = [
        {"id": "1", "command": "ls && cat /etc/passwd", **WORLD},
        {"id": "2", "command": "ls", "rules": [], **WORLD},
    ]
    done = CliRunner().invoke(bash_scan, input="".join(json.dumps(question) + "\n" for question in questions))
    assert [json.loads(line) for line in done.output.splitlines()] == [
        {
            "id": "1",
            "commands": ["ls", "cat /etc/passwd"],
            "external": [{"path": "/etc/passwd", "mode": "r"}],
            "sensitive": [],
            "opaque": False,
            "network": False,
            "decision": "ask-external",
            "always": ["ls *", "cat *"],
        },
        {
            "id": "2",
            "commands": ["ls"],
            "external": [],
            "sensitive": [],
            "opaque": False,
            "network": False,
            "decision": "allow",
            "always": ["ls *"],
        },
    ]
