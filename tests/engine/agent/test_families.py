"""Claims about the prompts of models: which family a model belongs to, and how the user changes that."""

from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.engine.agent.families import ModelPrompts, built_in_families
from opencode_tui.engine.provider.model_pattern import short_name
from opencode_tui.schema.model import Model, ModelRef
from tests.support.provider.model_script import Answer
from tests.support.world.engine import opened

KILOBYTE = 1024
"""The limit of a first request is 12 of them."""


def model(name: str) -> Model:
    provider, _, identifier = name.partition("/")
    return Model(provider_id=provider, model_id=identifier)


def family(name: str, **chosen: str) -> str:
    return ModelPrompts(chosen=chosen).of(model(name)).source.family


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("provider", ["fake", "fake-anthropic"])
async def test_the_first_request_is_at_most_12_kb_for_every_family(
    environ: dict[str, str], tmp_path: Path, provider: str
) -> None:
    names, sizes, texts = built_in_families(), dict[str, int](), set[str]()
    project = tmp_path / "project"
    project.mkdir()
    for name in names:
        async with opened(environ, project, Answer(text="hi"), settings={"prompts": {"*": name}}) as world:
            await world.prompt("hello", model=ModelRef(provider_id=provider, model_id="fake-model"))
        (request,) = world.server.requests
        assert len(request.body["tools"]) >= 16
        sizes[name] = int(request.headers["content-length"])
        texts.add(str(request.body.get("system") or request.body["messages"][0]["content"]))
    assert len(texts) == len(names) == 5
    assert max(sizes.values()) <= 12 * KILOBYTE, sizes


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
