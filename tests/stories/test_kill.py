"""kill -9 at two random points of a run: nothing published is lost, and the next run works. `bench_crash` does it 200 times."""

import json

import pytest

from tests.support.faults.kill import make_lane
from tests.support.provider.model_script import Answer, Call
from tests.support.world.cli import kill_session, read_events
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


def test_a_kill_at_any_point_loses_nothing_that_was_published(tmp_path, server):
    lane = make_lane(tmp_path / "lane", server.config(), seed=0)
    lane.kill(at_line=True)
    lane.kill(at_line=False)
    lane.recover()
    assert lane.complaints == []


def test_the_run_after_a_kill_reports_only_its_own_work(line):
    killed = line.start_turn('wait <<tool bash {"command":"sleep 5","description":"wait"}>> <<slow 5>>')
    told = read_events(killed, 2)
    killed.kill()
    kill_session(killed)
    after = line.turn("and now", "-c")
    assert [event["type"] for event in told] == ["step_start", "text"]
    assert [event["type"] for event in after.events] == ["step_start", "text", "step_finish"]


def test_what_a_killed_agent_had_changed_is_named_and_comes_on_a_branch_with_the_next_turn(
    line, server, project, paths
):
    work = {"command": "echo work >made.txt; sleep 600", "description": "works"}
    task = {"description": "make it", "subagent_type": "general", "isolation": "worktree"}
    task["prompt"] = f"make <<tool bash {json.dumps(work)}>>"
    server.script(Answer(calls=(Call("task", task),)))
    killed = line.start_turn("go")
    wait_until(lambda: [one for one in paths.tasks.glob("*/made.txt") if one.read_text()])
    killed.kill()
    kill_session(killed)
    [left] = [one.parent for one in paths.tasks.glob("*/made.txt")]

    [row] = json.loads(line.run("ps", "--format", "json").stdout)
    assert (row["state"], row["left"]) == ("stopped", [str(left)])
    assert "what 1 agent had changed" in row["line"]
    assert str(left) in "".join(line.run("doctor").stdout.split("\n"))

    after = line.turn("go on", "-c")
    assert after.code == 0, after.stderr
    branch = project.git("branch", "--list", "opencode-tui/agent-*", "--format=%(refname:short)").split()
    assert [project.git("show", f"{name}:made.txt") for name in branch] == ["work"]
    assert list(paths.tasks.iterdir()) == [] and not (line.folder / "made.txt").exists()
    assert line.survivors(grace_s=PATIENCE_S) == []
