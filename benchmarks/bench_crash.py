"""kill -9 at 200 points of a run: every record readable, nothing printed lost, no part left open, the next run works.

Half of the kills strike directly after a random printed line, half at a moment uniform over the run; a whole run follows each.
After each the whole store is read and compared with all that was printed, so each lane begins a new one after `STORE_KILLS`.
"""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted, rounds
from tests.support.faults.kill import Lane, make_lane
from tests.support.provider.model_server import ModelServer

KILLS = 200
LANES = 2
STORE_KILLS = 40


def work_lane(folder: Path, server: ModelServer, number: int, kills: int) -> list[Lane]:
    """Kill and recover in turns and return the lanes, one a store."""
    lanes: list[Lane] = []
    for turn in counted(kills) if number == 0 else range(kills):
        if turn % STORE_KILLS == 0:
            lanes.append(make_lane(folder / f"lane{number}-{len(lanes)}", server.config(), seed=time.time_ns()))
        lanes[-1].kill(at_line=turn % 2 == 0)
        lanes[-1].recover()
        for complaint in lanes[-1].complaints[-3:]:
            print(f"lane {number}: {complaint}", file=sys.stderr, flush=True)
    return lanes


def main() -> int:
    """Kill in two lanes at once and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=KILLS)
    kills = rounds(parser.parse_args().kills, 20)
    with tempfile.TemporaryDirectory() as name, ModelServer() as server, ThreadPoolExecutor(LANES) as pool:
        jobs = [pool.submit(work_lane, Path(name), server, number, kills // LANES) for number in range(LANES)]
        lanes = [lane for job in jobs for lane in job.result()]
    printed = sum(len(lane.printed) for lane in lanes)
    wrong = [complaint for lane in lanes for complaint in lane.complaints]
    for complaint in wrong[:20]:
        print(complaint)
    return report([Figure(f"broken promises in {kills} kills, {printed} lines printed", len(wrong), 0, "")])


if __name__ == "__main__":
    sys.exit(main())
