"""A review by the model is data: checked against the schema, about what was named, and a body that GitHub documents."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from opencode_tui.client.findings import as_github, find_problems
from opencode_tui.schema.api.findings import Finding, Findings
from opencode_tui.schema.api.review import ChangedPath, Hunk
from opencode_tui.schema.error import ConfigError, ProviderError
from tests.engine.session.test_subagent import MODEL, opened
from tests.support.provider.model_script import Answer, Call
from tests.support.world.repo import Repo, make_repo

BODY = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "commit_id": {"type": "string"},
        "body": {"type": "string", "minLength": 1},
        "event": {"enum": ["APPROVE", "REQUEST_CHANGES", "COMMENT"]},
        "comments": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "body"],
                "properties": {
                    "path": {"type": "string"},
                    "position": {"type": "integer"},
                    "body": {"type": "string"},
                    "line": {"type": "integer"},
                    "side": {"type": "string"},
                    "start_line": {"type": "integer"},
                    "start_side": {"type": "string"},
                },
            },
        },
    },
    "required": ["body", "event"],
}
"""The body of "Create a review for a pull request" in GitHub's REST API, version 2022-11-28."""

FOUND = {
    "summary": "Nearly right.",
    "findings": [
        {"file": "a.py", "line": 2, "severity": "note", "text": "Name it."},
        {"file": "a.py", "line": 1, "severity": "error", "text": "Divides by zero for n = 0."},
    ],
}
ANSWER = Answer(calls=(Call("StructuredOutput", FOUND),))


def _repo(folder: Path) -> Repo:
    repo = make_repo(folder / "r")
    repo.commit("first", **{"a.py": "one\n"})
    repo.git("checkout", "-q", "-b", "fix")
    repo.commit("second", **{"a.py": "two\n"})
    repo.commit("third", **{"b.py": "three\n"})
    return repo


@pytest.mark.slow
async def test_names_stand_for_a_commit_a_branch_a_range_and_the_work_tree(environ, tmp_path):
    repo = _repo(tmp_path)
    repo.write("c.py", "new\n")
    async with opened(environ, repo.path) as (_, client):

        async def files(name: str) -> list[str]:
            return [one.path for one in (await client.review.named(name)).files]

        assert await files("") == ["c.py"]
        assert await files("HEAD") == ["b.py"] and await files("HEAD~2") == ["a.py"]
        assert await files("main") == await files("main...") == ["a.py", "b.py"]
        assert await files("HEAD~1..HEAD") == ["b.py"]
        for wrong in ("nothing", "--output=evil", "a..b"):
            with pytest.raises(ConfigError, match="there is no commit"):
                await client.review.named(wrong)
    assert not (repo.path / "evil").exists()


@pytest.mark.slow
async def test_findings_are_checked_and_the_worst_is_first(environ, tmp_path):
    repo = _repo(tmp_path)
    wrong = Answer(calls=(Call("StructuredOutput", {"summary": "x", "findings": [{"file": "a.py", "line": "1"}]}),))
    async with opened(environ, repo.path, wrong, ANSWER) as (server, client):
        found = await find_problems(client, await client.review.named("HEAD~1"), model=MODEL)
        assert [(one.severity, one.line) for one in found.findings] == [("error", 1), ("note", 2)]
        assert found.head == repo.git("rev-parse", "HEAD~1") and found.summary == "Nearly right."
        assert "+two" in str(server.bodies[0]["messages"])
        assert len(server.bodies) == 2
        with pytest.raises(ConfigError, match="no changes in the work tree"):
            await find_problems(client, await client.review.named(""), model=MODEL)


@pytest.mark.slow
async def test_a_model_without_findings_is_an_error(environ, tmp_path):
    repo = _repo(tmp_path)
    async with opened(environ, repo.path, *[Answer(text="looks good")] * 5) as (_, client):
        with pytest.raises(ProviderError, match="no structured answer"):
            await find_problems(client, await client.review.named("HEAD"), model=MODEL)


def test_a_review_for_github_has_comments_on_lines_of_the_diff_and_the_others_in_its_text():
    hunk = Hunk(id="h", before=1, after=1, lines=["-one", "+two", " same"])
    files = [ChangedPath(path="a.py", state="staged", status="modified", hunks=[hunk])]
    findings = [
        Finding(file="a.py", line=1, severity="error", text="wrong"),
        Finding(file="a.py", line=1, severity="note", text="was better", side="LEFT"),
        Finding(file="a.py", line=40, severity="warning", text="elsewhere"),
        Finding(file="z.py", line=0, severity="note", text="unknown file"),
    ]
    body = as_github(Findings(name="x", head="f" * 40, session_id="s", summary="Sum.", findings=findings), files)
    assert list(Draft202012Validator(BODY).iter_errors(body)) == []
    assert [(one["line"], one["side"]) for one in body["comments"]] == [(1, "RIGHT"), (1, "LEFT")]
    assert "`a.py:40` **warning**: elsewhere" in body["body"] and "`z.py`" in body["body"]
    assert body["commit_id"] == "f" * 40 and body["event"] == "COMMENT"
    empty = as_github(Findings(name="x", session_id="s", summary="", findings=[]), files)
    assert list(Draft202012Validator(BODY).iter_errors(empty)) == [] and "commit_id" not in empty
