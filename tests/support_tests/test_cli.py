import subprocess
import time

from tests.support.faults.kill import lost_lines
from tests.support.sessions.stored import Stored
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.waiting import PATIENCE_S


def test_a_process_that_is_left_is_found_by_its_marker(tmp_path, environ):
    line = CommandLine(tmp_path, environ)
    assert line.survivors() == []
    child = subprocess.Popen(["sleep", "60"], env=line.variables(), start_new_session=True)
    deadline = time.monotonic() + PATIENCE_S
    try:
        while not (left := line.survivors()) and time.monotonic() < deadline:
            time.sleep(0.01)  # its environment shows only when the kernel has finished the exec
        assert [process.split(" ", 1)[1].strip() for process in left] == ["sleep 60"]
    finally:
        kill_session(child)
    assert line.survivors(grace_s=PATIENCE_S) == []


def test_a_printed_part_that_is_gone_or_changed_counts_as_lost():
    kept, changed, gone = ({"id": name, "text": "a"} for name in ("kept", "changed", "gone"))
    stored = Stored({("part", "m", "kept"): kept, ("part", "m", "changed"): {**changed, "text": "b"}})
    printed = [{"type": "text", "part": part} for part in (kept, changed, gone)]
    assert [line.split("'")[3] for line in lost_lines(stored, printed)] == ["changed", "gone"]
