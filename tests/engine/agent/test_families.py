"""Claims about the prompts of models: which family a model belongs to, and how the user changes that."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.agent.families import ModelPrompts, built_in_families
from opencode_tui.engine.provider.model_pattern import short_name
from opencode_tui.schema.model import Model, ModelRef
from tests.support.provider import strict_anthropic, strict_gemini, strict_openai, strict_responses
from tests.support.provider.model_script import Answer, Call
from tests.support.rows import each
from tests.support.world.engine import opened

FIRST_REQUEST_BYTES = 8_000
_PROJECT = "/home/you/work/project"
"""The folder for which the size counts: the request names it."""

_LIMIT = {"context": 200_000, "output": 8_000}
_FORMATS: Mapping[str, Callable[[dict[str, Any]], list[str]]] = {
    "fake": strict_openai.violations,
    "fake-anthropic": strict_anthropic.violations,
    "fake-responses": strict_responses.violations,
    "fake-gemini": strict_gemini.violations,
}
_REPLACE = [
    *("bash", "bash_output", "read", "glob", "grep", "list", "edit", "multiedit", "write", "webfetch", "task"),
    *("todowrite", "question", "plan_exit", "recall"),
]
_PATCH = [
    *("bash", "bash_output", "read", "glob", "grep", "list", "apply_patch", "webfetch", "task"),
    *("todowrite", "question", "plan_exit", "recall"),
]


def model(name: str) -> Model:
    provider, _, identifier = name.partition("/")
    return Model(provider_id=provider, model_id=identifier)


def family(name: str, **chosen: str) -> str:
    return ModelPrompts(chosen=chosen).of(model(name)).source.family


@each(
    ("model_id", "name"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4.5"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1-20250805-v1:0"),
        ("us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet-20240620-v1:0"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-haiku-4-5", "claude-haiku-4-5"),
        ("databricks-claude-3-7-sonnet", "claude-3-7-sonnet"),
        ("accounts/fireworks/models/gpt-oss-120b", "gpt-oss-120b"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder-480b-a35b-instruct"),
        ("gpt-5.1", "gpt-5.1"),
        ("claude-3.5-sonnet", "claude-3.5-sonnet"),
        ("xai.grok-4", "grok-4"),
        ("openai-gpt-5-mini", "gpt-5-mini"),
        ("meta.llama3-70b-instruct-v1:0", "llama3-70b-instruct-v1:0"),
        ("openai.", "openai."),
        ("", ""),
    ],
)
def test_the_short_name_is_without_what_aggregators_add(model_id: str, name: str) -> None:
    assert short_name(model_id) == name


def test_a_model_of_an_unknown_name_gets_the_prompt_for_open_weights() -> None:
    assert family("acme/what-is-this") == "open-weights"


def test_the_users_pattern_wins_the_last_match_first() -> None:
    assert family("local/coder", **{"local/*": "gemini"}) == "gemini"
    assert family("local/coder", **{"local/*": "gemini", "coder*": "anthropic"}) == "anthropic"
    assert family("other/coder", **{"local/*": "gemini"}) == "open-weights"
    assert family("local/coder", **{"LOCAL/Coder": "openai-chat"}) == "openai-chat"


def test_a_name_without_a_text_is_reported_and_has_no_effect(tmp_path: Path) -> None:
    prompts = ModelPrompts(folders=[tmp_path], chosen={"local/*": "mine", "*gpt*": "gemini"})
    assert prompts.of(model("local/coder")).source.family == "open-weights"
    (line,) = prompts.problems()
    assert line.startswith("prompts.local/*: no prompt 'mine'; choose one of anthropic, ") and "mine.md" in line


def test_a_file_of_the_user_replaces_a_family_and_adds_one(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    for folder, name, text in [
        (outer, "gemini.md", "Outer text."),
        (inner, "gemini.md", "\nMy own text.\n"),
        (outer, "mine.md", "A family of my own."),
        (outer, "provider/acme.md", "Acme's rules."),
    ]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    prompts = ModelPrompts(folders=[inner, outer], chosen={"coder": "mine"})
    gemini = prompts.of(model("google/gemini-2.5-pro"))
    assert (gemini.text, gemini.header, gemini.source.file) == ("My own text.", "", str(inner / "gemini.md"))
    own = prompts.of(model("acme/coder"))
    assert (own.text, own.header, own.source.rule) == ("A family of my own.", "Acme's rules.", "prompts.coder")
    assert list(prompts.problems()) == []


@pytest.mark.parametrize("break_it", [lambda path: path.write_bytes(b"\xff\xfe\0x"), lambda path: path.mkdir()])
def test_an_unreadable_file_is_reported_and_the_built_in_text_is_used(
    tmp_path: Path, break_it: Callable[[Path], object]
) -> None:
    break_it(tmp_path / "anthropic.md")
    prompts = ModelPrompts(folders=[tmp_path])
    found = prompts.of(model("anthropic/claude-opus-4-1"))
    assert found.text.startswith("You are a coding agent") and found.source.file != str(tmp_path / "anthropic.md")
    (line,) = prompts.problems()
    assert line.startswith(f"{tmp_path / 'anthropic.md'}: not used as a prompt: ")


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", ".hidden", "/etc/passwd"])
def test_a_name_that_leads_elsewhere_is_no_family(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.md").write_text("a secret")
    folder = tmp_path / "prompts"
    folder.mkdir()
    assert ModelPrompts(folders=[folder], chosen={"*": name}).of(model("a/b")).source.family == "open-weights"


@pytest.mark.slow
async def test_the_first_request_is_at_most_8000_bytes_for_every_family_in_every_format(
    environ: dict[str, str], tmp_path: Path
) -> None:
    names, sizes, texts = built_in_families(), dict[tuple[str, str], int](), set[str]()
    models = {name: {"tool_call": True, "reasoning": True, "limit": _LIMIT} for name in names}
    chosen = {f"*/{name}": name for name in names}
    async with opened(
        environ, tmp_path, settings={"prompts": chosen}, has_all=True, models=dict.fromkeys(_FORMATS, models)
    ) as world:
        for provider, check in _FORMATS.items():
            for name in names:
                world.server.script(Answer(text="hi"))
                await world.prompt("hello", model=ModelRef(provider_id=provider, model_id=name))
                request = world.server.requests[-1]
                assert check(request.body) == []
                assert _tools(request.body) == (_PATCH if name == "openai-reasoning" else _REPLACE), (provider, name)
                longer = json.dumps(request.body).count(str(tmp_path)) * (len(str(tmp_path)) - len(_PROJECT))
                sizes[provider, name] = int(request.headers["content-length"]) - longer
                if provider == "fake":
                    texts.add(request.body["messages"][0]["content"].partition("You run on")[0])
    assert len(texts) == len(names) == 5 and len(sizes) == 20
    assert max(sizes.values()) <= FIRST_REQUEST_BYTES, sizes


def _tools(body: dict[str, Any]) -> list[str]:
    declared = [one for tool in body["tools"] for one in tool.get("functionDeclarations", [tool])]
    return [tool["function"]["name"] if "function" in tool else tool["name"] for tool in declared]


@pytest.mark.slow
async def test_a_tool_of_the_other_form_of_editing_still_runs(environ: dict[str, str], tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: made.txt\n+by a patch\n*** End Patch"
    answers = [
        Answer(calls=(Call("apply_patch", {"patchText": patch}), Call("todoread", {}))),
        Answer(text="done"),
    ]
    async with opened(environ, tmp_path, *answers, settings={"permission": {"edit": "allow"}}) as world:
        session = await world.prompt("make a file")
        states = [call.state.status for call in await world.calls(session)]
    assert "apply_patch" not in _tools(world.server.bodies[0])
    assert states == ["completed", "completed"]
    assert (tmp_path / "made.txt").read_text() == "by a patch\n"


@pytest.mark.slow
async def test_a_changed_prompt_applies_to_the_next_request_behind_the_header(
    environ: dict[str, str], tmp_path: Path
) -> None:
    own = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "prompts"
    (own / "provider").mkdir(parents=True)
    (own / "open-weights.md").write_text("Do as I say.")
    (own / "provider" / "fake-anthropic.md").write_text("You serve Acme.")
    async with opened(environ, tmp_path, Answer(text="a"), Answer(text="b")) as world:
        model = ModelRef(provider_id="fake-anthropic", model_id="fake-model")
        session = await world.prompt("hello", model=model)
        view = await world.client.context.items(session.id)
        await world.prompt("hello", session=session)
        listed = {str(one.ref): one.prompt for one in await world.client.catalog.models()}
    first, second = (request.body for request in world.server.requests)
    assert first["system"][0]["text"] == "You serve Acme.\n\nDo as I say."
    assert second["messages"][0]["content"].startswith("Do as I say.\n\nYou run on the model fake/fake-model.")
    assert [(item.kind, item.name) for item in view.items[:3]] == [
        ("provider", "fake-anthropic"), ("family", "open-weights"), ("environment", str(tmp_path)),
    ]  # fmt: skip
    shown = listed["fake-anthropic/fake-model"]
    assert shown is not None and shown.file == str(own / "open-weights.md")
    assert (shown.family, shown.rule, shown.header) == (
        "open-weights",
        "*",
        str(own / "provider" / "fake-anthropic.md"),
    )
