"""The estimate of tokens: how it counts, what it learns, and that the ratios are stored."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.llm import LlmRequest, MediaBlock, TextBlock, UserEntry
from opencode_tui.engine.session.tokens.estimate import KINDS as TEXT_KINDS
from opencode_tui.engine.session.tokens.estimate import PLAUSIBLE, Ratios, TokenEstimator, count_text
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.message import CacheTokens, Tokens
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.token_counter import TokenCounter, Window
from tests.support.sessions.corpus import KINDS, Kind
from tests.support.sessions.growing_session import GrowingSession
from tests.support.sessions.records import MODEL
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.engine import MODEL as FAKE
from tests.support.world.engine import opened
from tests.support.world.waiting import PATIENCE_S

OLD_LAYOUT = b'{"layout": 1, "model": "fake/m", "reports": 3, "tokens": {"words": 1.0}, "covariance": [[0.1]]}'
BAD_RATIOS = json.dumps({"layout": 2, "reports": 3, "ratios": dict.fromkeys(TEXT_KINDS, 1e9)}).encode()
ODD = Model(provider_id="weird/../..", model_id="a b/c:1")


def request(text: str, model: Model = MODEL) -> LlmRequest:
    return LlmRequest(model=model, system=(), messages=(UserEntry((TextBlock(text),)),))


def trained(folder: Path, *, factor: float = 1.5, model: Model = MODEL) -> TokenEstimator:
    """Return an estimator after ten reports of more tokens than it starts with."""
    estimator = TokenEstimator(folder=folder)
    first = estimator.estimate(request("word " * 5_000, model))
    for _ in range(10):
        estimator.learn(request("word " * 5_000, model), Tokens(input=round(factor * first)))
    return estimator


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_after_ten_steps_a_request_is_known_within_five_percent(kind: Kind, tmp_path: Path) -> None:
    estimator, session = TokenEstimator(folder=tmp_path), GrowingSession(kind, TokenCounter(), random.Random(7))
    for _ in range(10):
        asked = session.step()
        estimator.learn(asked, session.count(asked))
    asked = session.step()
    assert estimator.estimate(asked) == pytest.approx(session.count(asked).input, rel=0.05)


def test_what_was_learned_outlives_the_process(tmp_path: Path) -> None:
    learned = trained(tmp_path).estimate(request("word " * 500))
    assert TokenEstimator(folder=tmp_path).estimate(request("word " * 500)) == learned
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_each_model_learns_for_itself(tmp_path: Path) -> None:
    trained(tmp_path)
    other = MODEL.changed(model_id="other")
    fresh = TokenEstimator(folder=tmp_path / "empty")
    assert TokenEstimator(folder=tmp_path).estimate(request("word " * 500, other)) == fresh.estimate(
        request("word " * 500)
    )


def test_a_models_name_may_hold_anything(tmp_path: Path) -> None:
    learned = trained(tmp_path, model=ODD).estimate(request("word " * 500, ODD))
    assert TokenEstimator(folder=tmp_path).estimate(request("word " * 500, ODD)) == learned
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"layout": 1}', b"\xff\xfe", b"null", b"[" * 100_000, OLD_LAYOUT, BAD_RATIOS]
)
def test_a_damaged_file_counts_as_absent_and_is_replaced(damage: bytes, tmp_path: Path) -> None:
    trained(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    fresh = TokenEstimator(folder=tmp_path / "empty").estimate(request("word " * 500))
    assert TokenEstimator(folder=tmp_path).estimate(request("word " * 500)) == fresh
    assert trained(tmp_path).estimate(request("word " * 500)) > fresh


def test_a_second_process_continues_from_the_ratios_of_the_first(tmp_path: Path) -> None:
    second = TokenEstimator(folder=tmp_path)
    before = second.estimate(request("word " * 5_000))
    trained(tmp_path)
    second.learn(request("word " * 5_000), Tokens(input=round(1.5 * before)))
    assert second.of_model(MODEL).reports == 11


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    estimator = trained(tmp_path / "state" / "tokens")
    assert estimator.of_model(MODEL).reports == 10


def test_what_came_from_the_cache_counts_as_sent(tmp_path: Path) -> None:
    one, other = TokenEstimator(folder=tmp_path / "a"), TokenEstimator(folder=tmp_path / "b")
    one.learn(request("word " * 900), Tokens(input=1_400))
    other.learn(request("word " * 900), Tokens(input=500, cache=CacheTokens(read=700, write=200)))
    assert one.estimate_text("word " * 900, MODEL) == other.estimate_text("word " * 900, MODEL) > 901


def test_a_step_that_reported_nothing_teaches_nothing(tmp_path: Path) -> None:
    estimator = TokenEstimator(folder=tmp_path)
    estimator.learn(request("word"), Tokens())
    assert estimator.of_model(MODEL).reports == 0 and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_concurrent_processes_leave_a_valid_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.engine.session.tokens.test_estimate import trained; "
        "[trained(Path(sys.argv[1])) for _ in range(5)]"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=PACKAGE_ROOT) for _ in range(3)]
    assert [one.wait(PATIENCE_S) for one in started] == [0, 0, 0]
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    # The last writer wins; a file that is not valid counts as no report.
    assert TokenEstimator(folder=tmp_path).of_model(MODEL).reports > 0


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", set()),
        ("two words", {"words"}),
        ("12 345", {"numbers"}),
        ("== ()", {"signs"}),
        ("x\n    y\n", {"words", "signs"}),
        ("中文かな한국어，", {"cjk"}),
        ("“мир”🙂é", {"scripts"}),
        ("\ud800", {"cjk"}),
    ],
)
def test_a_text_is_counted_by_kinds_of_characters(text: str, kinds: set[str]) -> None:
    assert {kind for kind, tokens in zip(TEXT_KINDS, count_text(text), strict=True) if tokens} == kinds


def test_the_counts_of_two_lines_are_those_of_each() -> None:
    lines = ["x = read_file(12345)\n", "如果 the file 不存在\n"]
    both = [one + other for one, other in zip(*map(count_text, lines), strict=True)]
    assert count_text("".join(lines)) == pytest.approx(both)


def test_a_report_that_cannot_be_right_changes_nothing() -> None:
    counts = tuple(float(100 + at) for at in range(len(TEXT_KINDS)))
    expected = sum(counts)
    for reported in (0, -5, int(expected / PLAUSIBLE) - 1, int(expected * PLAUSIBLE) + 1):
        assert Ratios().learned(counts, reported) == Ratios()


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.34, 2.9)), max_size=30))
def test_no_report_makes_a_ratio_absurd(reports: list[tuple[int, float]]) -> None:
    ratios = Ratios()
    for seed, factor in reports:
        chance = random.Random(seed)
        counts = tuple(float(chance.randrange(200)) for _ in TEXT_KINDS)
        ratios = ratios.learned(counts, round(factor * ratios.tokens(counts)))
    assert len(ratios.values) == len(TEXT_KINDS) and all(0.25 <= ratio <= 4 for ratio in ratios.values)


def test_the_ratios_follow_a_change_after_many_reports() -> None:
    ratios, chance = Ratios(), random.Random(4)
    for factor in [0.8] * 200 + [1.25] * 60:
        counts = tuple(float(chance.randrange(200)) for _ in TEXT_KINDS)
        ratios = ratios.learned(counts, round(factor * sum(counts)))
    counts = tuple(float(random.Random(5).randrange(200)) for _ in TEXT_KINDS)
    assert ratios.tokens(counts) == pytest.approx(1.25 * sum(counts), rel=0.1)


def test_a_request_that_cannot_exceed_a_size_is_not_counted(tmp_path: Path) -> None:
    estimator = TokenEstimator(folder=tmp_path)
    small, large = request("word " * 10), request("word " * 10_000)
    assert estimator.estimate(small, beyond=1_000) == 0
    assert estimator.estimate(small) > 0
    assert estimator.estimate(large, beyond=1_000) == estimator.estimate(large) > 9_000


@pytest.mark.parametrize("text", ["中" * 400, "🙂" * 400])
def test_non_ascii_text_may_take_more_than_a_token_per_character(text: str, tmp_path: Path) -> None:
    assert TokenEstimator(folder=tmp_path).estimate(request(text), beyond=1_000) > 0


def test_media_are_always_counted(tmp_path: Path) -> None:
    picture = LlmRequest(model=MODEL, system=(), messages=(UserEntry((MediaBlock("image/png", "AAAA"),)),))
    assert TokenEstimator(folder=tmp_path).estimate(picture, beyond=100) > 1_000


@pytest.mark.slow
async def test_turns_teach_what_the_provider_counts(environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def run(value):\n    return value + 1\n" * 300)
    async with opened(environ, folder, window=Window()) as world:
        session = await world.new_session()
        for _ in range(5):
            world.server.script(Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="read"))
            await world.prompt("read it", session=session)
    (kept,) = (Path(environ["XDG_STATE_HOME"]) / "opencode-tui" / "tokens").glob("*.json")
    assert str(FAKE) in kept.read_text() and '"reports": 10' in kept.read_text()
