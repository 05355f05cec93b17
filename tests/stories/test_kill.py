"""kill -9 at two random points of a run: nothing published is lost, and the next run works. `bench_crash` does it 200 times."""

from tests.support.faults.kill import make_lane
from tests.support.world.cli import kill_session, read_events


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
