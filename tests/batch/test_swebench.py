"""Instances of SWE-bench as tasks, predictions, and one evaluation from end to end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.batch.swebench import check_predictions_path, is_instances, read_instances, write_predictions
from opencode_tui.batch.task import TaskResult
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths
from tests.support.eval.grade import grade
from tests.support.eval.task_set import EvalModel, build_repository, read_task
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import Repo, content

pytestmark = pytest.mark.slow


INSTANCE: dict[str, object] = {
    "instance_id": "ann__lib-1",
    "repo": "ann/lib",
    "base_commit": "0123456789abcdef",
    "problem_statement": "It fails for {x} and \u2028 too.",
    "hints_text": "SECRET hint",
    "patch": "SECRET patch",
    "test_patch": "SECRET tests",
    "FAIL_TO_PASS": '["SECRET"]',
    "PASS_TO_PASS": [],
}


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    (tmp_path / "repos" / "ann__lib").mkdir(parents=True)
    (tmp_path / "repos" / "bob" / "app").mkdir(parents=True)
    return tmp_path / "repos"


@pytest.mark.parametrize("indent", [None, 2])
def test_instances_become_tasks_without_hints_or_tests(repos: Path, indent: int | None) -> None:
    other = {**INSTANCE, "instance_id": "bob__app-7", "repo": "bob/app"}
    lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in (INSTANCE, other))
    data = (lines if indent is None else json.dumps([INSTANCE, other], indent=indent)).encode("utf-8-sig")
    assert is_instances(data)
    first, second = read_instances(data, "t.json", repos)
    assert (first.id, first.dir, first.base) == ("ann__lib-1", str(repos / "ann__lib"), "0123456789abcdef")
    assert second.dir == str(repos / "bob" / "app")
    assert first.prompt.startswith(str(INSTANCE["problem_statement"]))
    assert "SECRET" not in first.to_json().decode()


def test_plain_tasks_are_no_instances() -> None:
    assert not is_instances(b'{"id": "a", "prompt": "x"}\n')
    assert not is_instances(b'{"instance_id": "a", "id": "a", "prompt": "x"}\n')
    assert not is_instances(b"") and not is_instances(b"{" * 100_000)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repo": None}, "t.jsonl:2: repo is missing"),
        ({"repo": "../../etc"}, "t.jsonl:2: repo: '../../etc' is not OWNER/NAME"),
        ({"repo": "ann/.."}, "t.jsonl:2: repo: 'ann/..' is not OWNER/NAME"),
        ({"base_commit": "--upload-pack=x"}, "t.jsonl:2: base_commit: '--upload-pack=x' is not the id of a commit"),
        ({"base_commit": "HEAD"}, "t.jsonl:2: base_commit: 'HEAD'"),
        ({"problem_statement": ["x"]}, "t.jsonl:2: problem_statement: "),
        ({"problem_statement": "\n"}, "t.jsonl:2: problem_statement: "),
        ({"instance_id": "a/../b"}, "t.jsonl:2: id: 'a/../b' is not an id"),
        ({"instance_id": "ann__lib-1"}, "t.jsonl:2: instance_id 'ann__lib-1' is there twice"),
        ({"instance_id": "x-1", "repo": "eve/gone"}, "no checkout of eve/gone in"),
    ],
)
def test_a_wrong_instance_is_one_error_with_its_place(repos: Path, changes: dict[str, object], said: str) -> None:
    second = {**INSTANCE, "instance_id": "ann__lib-2", **changes}
    data = f"{json.dumps(INSTANCE)}\n{json.dumps(second)}\n".encode()
    with pytest.raises(ConfigError) as caught:
        read_instances(data, "t.jsonl", repos)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[]", "t.json has no instances"),
        (b"[1]", "t.json: instance 1: not an object"),
        (b'[\n{"a": 1},\n{"a" 1}]', "t.json:3: not valid JSON"),
        (b"[" * 100_000, "t.json:1: nested too deeply"),
        (b"[\xff]", "t.json: not UTF-8"),
    ],
    ids=["empty", "number", "comma", "deep", "latin"],
)
def test_a_broken_list_is_one_error(repos: Path, data: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_instances(data, "t.json", repos)
    assert said in str(caught.value)


def test_predictions_have_the_documented_fields_in_the_order_of_the_instances(repos: Path) -> None:
    data = "\n".join(json.dumps({**INSTANCE, "instance_id": f"ann__lib-{number}"}) for number in (3, 1, 2)).encode()
    tasks = read_instances(data, "t.jsonl", repos)
    diff = "--- a/é\n+++ b/é\n@@ -1 +1 @@\n-\u2028\n+\ud800\n"
    results = {
        "ann__lib-1": TaskResult(id="ann__lib-1", status="done", model="fake/fake-model", diff=diff),
        "ann__lib-3": TaskResult(id="ann__lib-3", status="timeout"),
    }
    for name in ("p.jsonl", "p.json"):
        assert write_predictions(repos / name, tasks, results) == 2
    lines = (repos / "p.jsonl").read_text().splitlines()
    assert json.loads((repos / "p.json").read_text()) == [json.loads(line) for line in lines]
    assert [json.loads(line) for line in lines] == [
        {"instance_id": "ann__lib-3", "model_name_or_path": "fake/fake-model", "model_patch": ""},
        {"instance_id": "ann__lib-1", "model_name_or_path": "fake/fake-model", "model_patch": diff},
    ]


def test_predictions_replace_only_predictions(tmp_path: Path) -> None:
    check_predictions_path(tmp_path / "p.json", is_resumed=False)
    (tmp_path / "p.json").write_text('[{"instance_id": "a", "model_patch": ""}]')
    (tmp_path / "tasks.jsonl").write_text(json.dumps(INSTANCE))
    check_predictions_path(tmp_path / "p.json", is_resumed=True)
    for name, said in (("p.csv", "must end with"), ("none/p.json", "no folder"), ("tasks.jsonl", "exists")):
        with pytest.raises(ConfigError, match=said):
            check_predictions_path(tmp_path / name, is_resumed=True)
    with pytest.raises(ConfigError, match="exists"):
        check_predictions_path(tmp_path / "p.json", is_resumed=False)


_TASK = """\
=== problem
half(3) is 1, not 1.5
=== file half.py
def half(n):
    return n // 2
=== test tests/test_half.py
from half import half
def test_odd():
    assert half(3) == 1.5
def test_even():
    assert half(4) == 2
=== fail
tests/test_half.py::test_odd
=== pass
tests/test_half.py::test_even
=== read half.py
=== bash
git log --all --format=%H; git cat-file --batch-all-objects --batch-check; git reflog; git fsck --lost-found; git remote -v
=== bash
git -C ORIGIN log --all --format=%H
=== edit half.py
<<<<
    return n // 2
====
    return n / 2
>>>>
=== answer
It divides exactly now.
"""


def test_an_instance_is_run_predicted_and_graded_and_sees_nothing_later(
    tmp_path: Path, environ: dict[str, str], paths: Paths
) -> None:
    origin = Repo(tmp_path / "repos" / "small__half")
    task = read_task("half", _TASK.replace("ORIGIN", str(origin.path)))
    instance = build_repository(task, tmp_path / "repos")
    known = set(origin.git("rev-list", "--objects", "--no-object-names", "HEAD").split())
    origin.commit("the fix", **{"half.py": "def half(n):\n    return n / 2\n"})
    origin.git("tag", "-am", "release", "v2")
    origin.write("half.py", "stashed\n")
    origin.git("stash")
    origin.git("remote", "add", "origin", str(origin.path))
    listing = origin.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    later = set(listing.split()) - known
    before = content(origin.path / ".git")
    (tmp_path / "bench.json").write_text(json.dumps([instance]))
    with ModelServer(model=EvalModel([task])) as server:
        config = {"model": "fake/fake-model", "provider": server.config()}
        words = ["batch", "bench.json", "--repos", "repos", "--predictions", "preds.jsonl"]
        done = subprocess.run(
            [sys.executable, "-m", "opencode_tui", *words],
            cwd=tmp_path,
            env={**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(config)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        shown = json.dumps(server.bodies)
    assert done.returncode == 0, done.stderr
    assert len(later) == 9 and [name for name in later if name in shown] == []
    assert len(known) == 6 and [name for name in known if name not in shown] == []
    assert content(origin.path / ".git") == before
    assert list(paths.tasks.iterdir()) == []
    [prediction] = [json.loads(line) for line in (tmp_path / "preds.jsonl").read_text().splitlines()]
    assert (prediction["instance_id"], prediction["model_name_or_path"]) == ("small__half-1", "fake/fake-model")
    assert grade(instance, tmp_path / "repos", prediction["model_patch"]).is_solved
