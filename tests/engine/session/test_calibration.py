"""The estimate of tokens: what it learns, and that it is kept."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.provider.stream import LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.session.calibration import Calibration
from opencode_tui.schema.message import CacheTokens, Tokens
from opencode_tui.schema.model import Model
from tests.support.build import MODEL
from tests.support.cli import PACKAGE_ROOT
from tests.support.corpus import KINDS, Kind
from tests.support.growing_session import GrowingSession
from tests.support.token_counter import TokenCounter

ODD = Model(provider_id="weird/../..", model_id="a b/c:1")


def request(text: str, model: Model = MODEL) -> LlmRequest:
    return LlmRequest(model=model, system=(), messages=(UserEntry((TextBlock(text),)),))


def taught(folder: Path, *, factor: float = 1.5, model: Model = MODEL) -> Calibration:
    """Return an estimate that was told ten times of more tokens than it begins with."""
    calibration = Calibration(folder=folder)
    first = calibration.estimate(request("word " * 5_000, model))
    for _ in range(10):
        calibration.observe(request("word " * 5_000, model), Tokens(input=round(factor * first)))
    return calibration


@pytest.mark.parametrize("kind", KINDS)
def test_after_ten_steps_a_request_is_known_within_five_percent(kind: Kind, tmp_path: Path) -> None:
    calibration, session = Calibration(folder=tmp_path), GrowingSession(kind, TokenCounter(), random.Random(7))
    for _ in range(10):
        asked = session.step()
        calibration.observe(asked, session.count(asked))
    asked = session.step()
    assert calibration.estimate(asked) == pytest.approx(session.count(asked).input, rel=0.05)


def test_what_was_learned_outlives_the_process(tmp_path: Path) -> None:
    learned = taught(tmp_path).estimate(request("word " * 500))
    assert Calibration(folder=tmp_path).estimate(request("word " * 500)) == learned
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_each_model_learns_for_itself(tmp_path: Path) -> None:
    taught(tmp_path)
    other = MODEL.changed(model_id="other")
    fresh = Calibration(folder=tmp_path / "empty")
    assert Calibration(folder=tmp_path).estimate(request("word " * 500, other)) == fresh.estimate(
        request("word " * 500)
    )


def test_a_models_name_may_hold_anything(tmp_path: Path) -> None:
    learned = taught(tmp_path, model=ODD).estimate(request("word " * 500, ODD))
    assert Calibration(folder=tmp_path).estimate(request("word " * 500, ODD)) == learned
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"layout": 1}', b"\xff\xfe", b"null", b"[" * 100_000])
def test_a_damaged_file_counts_as_absent_and_is_replaced(damage: bytes, tmp_path: Path) -> None:
    taught(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    fresh = Calibration(folder=tmp_path / "empty").estimate(request("word " * 500))
    assert Calibration(folder=tmp_path).estimate(request("word " * 500)) == fresh
    assert taught(tmp_path).estimate(request("word " * 500)) > fresh


def test_a_second_process_goes_on_from_what_the_first_has_learned(tmp_path: Path) -> None:
    second = Calibration(folder=tmp_path)
    before = second.estimate(request("word " * 5_000))
    taught(tmp_path)
    second.observe(request("word " * 5_000), Tokens(input=round(1.5 * before)))
    assert second.weights(MODEL).reports == 11


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    calibration = taught(tmp_path / "state" / "tokens")
    assert calibration.weights(MODEL).reports == 10


def test_what_came_from_the_cache_counts_as_sent(tmp_path: Path) -> None:
    one, other = Calibration(folder=tmp_path / "a"), Calibration(folder=tmp_path / "b")
    one.observe(request("word " * 900), Tokens(input=1_000))
    other.observe(request("word " * 900), Tokens(input=100, cache=CacheTokens(read=700, write=200)))
    assert one.weights(MODEL) == other.weights(MODEL)


def test_a_step_that_reported_nothing_teaches_nothing(tmp_path: Path) -> None:
    calibration = Calibration(folder=tmp_path)
    calibration.observe(request("word"), Tokens())
    assert calibration.weights(MODEL).reports == 0 and not list(tmp_path.iterdir())


def test_processes_that_learn_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.engine.session.test_calibration import taught; "
        "[taught(Path(sys.argv[1])) for _ in range(5)]"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=PACKAGE_ROOT) for _ in range(3)]
    assert [one.wait(60) for one in started] == [0, 0, 0]
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    assert Calibration(folder=tmp_path).weights(MODEL).reports >= 50
