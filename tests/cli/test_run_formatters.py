"""What `run` says of formatters."""

import json

import pytest

from tests.support.world.in_process import Commands


@pytest.mark.slow
def test_a_formatter_that_cannot_run_is_named_once_at_the_end(commands: Commands) -> None:
    settings = {"formatter": {"none": {"command": ["no-such-formatter"], "extensions": [".py"]}}}
    commands.folder.joinpath("opencode.json").write_text(json.dumps(settings))
    assert commands.run("trust", "--yes").code == 0
    done = commands.run("run", "--auto", "create hello.py that prints hello")
    assert (done.code, commands.folder.joinpath("hello.py").is_file()) == (0, True)
    said = [line for line in done.stderr.splitlines() if "does not format" in line]
    assert len(said) == 1 and "no-such-formatter is not installed" in said[0], done.stderr
