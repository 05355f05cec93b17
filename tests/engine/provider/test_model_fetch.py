"""Newer lists of models: what is asked for, when, and what counts."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.model_fetch import RENEW_EVERY_MS, ListSource, ModelLists
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.schema.model import ModelRef
from tests.support.provider.list_server import KEY, ListServer, list_server

INSTALLED = {
    "claude-sonnet-5-5": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "max_input_tokens": 1_000_000,
        "max_output_tokens": 128_000,
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "supports_function_calling": True,
        "supports_vision": True,
    }
}
LATER = 4_000_000_000_000
"""Milliseconds: after the file of the installed table was written."""


class World:
    def __init__(self, folder: Path) -> None:
        self.now = LATER
        (folder / "table.json").write_text(json.dumps(INSTALLED))
        self.cache = folder / "cache"
        self.lists = ModelLists(cache=self.cache, clock=lambda: self.now)
        self.table = ModelTable(cache=self.cache, source=folder / "table.json")

    async def refresh(self, *sources: ListSource, is_forced: bool = False) -> list[str]:
        lines = await self.lists.refresh(sources, is_forced=is_forced)
        self.table.reload()
        return lines

    def catalog(self, *, keys: dict[str, str] | None = None, **settings: object) -> Catalog:
        return Catalog(
            settings=CatalogSettings(**settings),  # pyright: ignore[reportArgumentType] - as the settings give them
            table=self.table,
            keys=(keys or {}).get,
            environment={},
            clock=lambda: self.now,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Iterator[ListServer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with list_server() as served:
        yield served


async def test_a_catalog_adds_the_models_that_the_installed_table_lacks(world: World, lists: ListServer) -> None:
    assert await world.refresh(ListSource(f"{lists.url}/api.json")) == [f"{lists.url}/api.json: 2 models"]
    made = world.catalog()
    new = made.resolve(ModelRef(provider_id="anthropic", model_id="claude-fable-9"))
    assert (new.unlisted, new.limit.context, new.limit.output, new.attachment) == (None, 1_000_000, 128_000, True)
    assert (new.cost.input, new.cost.output, new.cost.cache_read, new.cost.cache_write) == (
        Decimal(5), Decimal(25), Decimal("0.5"), Decimal("6.25"),
    )  # fmt: skip
    assert [(one.above, one.input, one.cache_read) for one in new.cost.large] == [(200_000, 10, Decimal("0.5"))]
    known = made.resolve(ModelRef(provider_id="anthropic", model_id="claude-sonnet-5-5"))
    assert (known.limit.context, known.cost.input) == (1_000_000, 3)
    assert [model.model_id for model in made.all_models() if model.provider_id == "anthropic"] == [
        "claude-sonnet-5-5", "claude-fable-9",
    ]  # fmt: skip


async def test_litellms_file_replaces_what_is_older(world: World, lists: ListServer) -> None:
    assert await world.refresh(ListSource(f"{lists.url}/litellm.json"))
    listed = world.table.models(("anthropic",))
    assert {name: one.context for name, one in listed.items()} == {
        "claude-sonnet-5-5": 500_000, "claude-fable-9": 900_000,
    }  # fmt: skip


async def test_a_newer_installed_table_counts_more_than_an_old_list(world: World, lists: ListServer) -> None:
    world.now = 1_000
    assert await world.refresh(ListSource(f"{lists.url}/litellm.json"))
    listed = world.table.models(("anthropic",))
    assert {name: one.context for name, one in listed.items()} == {
        "claude-sonnet-5-5": 1_000_000, "claude-fable-9": 900_000,
    }  # fmt: skip


async def test_a_list_is_asked_for_once_a_day_and_only_sent_if_it_changed(world: World, lists: ListServer) -> None:
    source = ListSource(f"{lists.url}/api.json")
    assert await world.refresh(source)
    assert await world.refresh(source) == []
    world.now += RENEW_EVERY_MS - 1
    assert await world.refresh(source) == []
    assert lists.answers == [200]
    world.now += 1
    assert await world.refresh(source) == []
    assert lists.answers == [200, 304]
    assert "claude-fable-9" in world.table.models(("anthropic",))
    assert await world.refresh(source, is_forced=True) == [f"{lists.url}/api.json: not changed"]
    lists.bodies["/api.json"] = lists.bodies["/api.json"].replace(b"claude-fable-9", b"claude-fable-10")
    world.now += RENEW_EVERY_MS
    assert await world.refresh(source) == [f"{lists.url}/api.json: 2 models"]
    assert [*world.table.models(("anthropic",))] == ["claude-sonnet-5-5", "claude-fable-10"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "it is not JSON"),
        (b'{"anthropic": {"models": {', "it is not JSON"),
        (b"<html>captive portal</html>", "it is not JSON"),
        (b"[]", "it lists no models"),
        (b'{"anthropic": {"models": {}}}', "it lists no models"),
        (b'{"anthropic": {"models": []}}', "it lists no models"),
        (b'{"error": "quota"}', "it lists no models"),
        (None, "it answered 404"),
    ],
)
async def test_a_damaged_or_missing_answer_changes_nothing(
    body: bytes | None, reason: str, world: World, lists: ListServer
) -> None:
    source = ListSource(f"{lists.url}/api.json")
    await world.refresh(source)
    before = world.table.models(("anthropic",))
    if body is None:
        del lists.bodies["/api.json"]
    else:
        lists.bodies["/api.json"] = body
    world.now += RENEW_EVERY_MS
    assert await world.refresh(source) == []
    assert world.table.models(("anthropic",)) == before
    assert "claude-fable-9" in before
    said = await world.refresh(source, is_forced=True)
    assert said == [f"{source.url} cannot be used ({reason}); the list from before stays"]
    assert await world.refresh(source) == [], "a failure counts for a day too"
    assert len(lists.answers) == 3


async def test_wrong_values_in_an_entry_count_as_unknown(world: World, lists: ListServer) -> None:
    wrong = {
        "cost": {"input": "free", "output": None},
        "limit": {"context": -5, "output": "many"},
        "modalities": "all",
        "tool_call": "yes",
    }
    lists.bodies["/api.json"] = json.dumps({"anthropic": {"models": {"odd": wrong, "odder": None}}}).encode()
    await world.refresh(ListSource(f"{lists.url}/api.json"))
    odd = world.catalog().resolve(ModelRef(provider_id="anthropic", model_id="odd"))
    assert (odd.limit.context, odd.limit.output, odd.cost.is_known, odd.tool_call) == (0, 0, False, True)


async def test_a_server_that_is_not_there_changes_nothing(world: World) -> None:
    assert await world.refresh(ListSource("http://127.0.0.1:9/api.json")) == []
    assert [*world.table.models(("anthropic",))] == ["claude-sonnet-5-5"]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"layout": 0, "sources": {}}', b'{"layout": 1, "sources": [3]}'])
async def test_a_damaged_file_of_lists_counts_as_none(damage: bytes, world: World, lists: ListServer) -> None:
    world.cache.mkdir()
    (world.cache / "models-fetched.json").write_bytes(damage)
    assert [*world.table.models(("anthropic",))] == ["claude-sonnet-5-5"]
    assert await world.refresh(ListSource(f"{lists.url}/api.json"))
    assert "claude-fable-9" in world.table.models(("anthropic",))


async def test_openrouters_own_list_has_context_prices_images_and_tools(world: World, lists: ListServer) -> None:
    own = {"openrouter": {"options": {"baseURL": f"{lists.url}/api/v1"}}}
    made = world.catalog(provider=own, keys={"openrouter": KEY})
    assert made.models()[:-1] == [], "there is no list before"
    [(table, url, endpoint)] = made.own_lists()
    assert (table, url, endpoint.api_key) == ("openrouter", f"{lists.url}/api/v1/models", KEY)
    assert await world.refresh(ListSource(url, table, {"authorization": f"Bearer {KEY}"})) == [f"{url}: 3 models"]
    best, text, auto = made.models()[:-1]
    assert (best.model_id, best.limit.context, best.limit.output) == ("anthropic/claude-sonnet-5.5", 1_000_000, 128_000)
    assert (best.cost.input, best.cost.output, best.cost.cache_read, best.cost.cache_write, best.cost.search) == (
        Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"), Decimal("0.01"),
    )  # fmt: skip
    assert [(one.attachment, one.tool_call, one.reasoning, one.cost.is_known) for one in (best, text, auto)] == [
        (True, True, True, True), (False, False, False, True), (True, True, False, False),
    ]  # fmt: skip
    assert str(made.default_model()) == "openrouter/anthropic/claude-sonnet-5.5"


@pytest.mark.slow
async def test_a_list_without_sizes_leaves_them_unknown(world: World, lists: ListServer) -> None:
    own = {"huggingface": {"options": {"baseURL": f"{lists.url}/v1"}}}
    await world.refresh(ListSource(f"{lists.url}/v1/models", "huggingface"))
    plain, hosted = world.catalog(provider=own, keys={"huggingface": KEY}).models()[:-1]
    assert (plain.model_id, plain.limit.context, plain.cost.is_known, plain.attachment) == (
        "acme/coder-1",
        0,
        False,
        True,
    )
    assert (hosted.limit.context, hosted.cost.input, hosted.tool_call, hosted.attachment) == (100_000, 1, True, False)


@pytest.mark.parametrize(
    ("given", "is_asked"),
    [
        ({"options": {"baseURL": "https://models.example/v1", "apiKey": "k"}}, True),
        ({"options": {"baseURL": "http://127.0.0.1:8080/v1"}}, False),
        ({"options": {"baseURL": "http://localhost:8080/v1"}}, False),
        ({"options": {"baseURL": "https://models.example/v1"}, "models": {"m": {}}}, False),
        ({"npm": "@ai-sdk/anthropic", "options": {"baseURL": "https://models.example/v1"}}, False),
    ],
)
def test_a_server_of_the_settings_is_asked_for_its_models_unless_they_are_named(
    given: dict[str, object], world: World, *, is_asked: bool
) -> None:
    found = world.catalog(provider={"mine": given}).own_lists()
    assert [(table, url) for table, url, _ in found] == (
        [("settings:mine", "https://models.example/v1/models")] if is_asked else []
    )


async def test_a_key_is_in_no_file_and_no_line(world: World, lists: ListServer, tmp_path: Path) -> None:
    source = ListSource(f"{lists.url}/api/v1/models", "openrouter", {"authorization": f"Bearer {KEY}"})
    said = await world.refresh(source, is_forced=True)
    kept = [file.read_bytes() for file in tmp_path.rglob("*.json")]
    assert said and len(kept) > 1
    assert KEY not in f"{said}{source}" and not any(KEY.encode() in data for data in kept)
    assert [headers["authorization"] for _, headers in lists.requests] == [f"Bearer {KEY}"]


async def test_a_request_names_this_program_and_nothing_else(world: World, lists: ListServer) -> None:
    await world.refresh(ListSource(f"{lists.url}/api.json"))
    [(_, headers)] = lists.requests
    assert headers.pop("user-agent").startswith("opencode-tui/")
    assert set(headers) <= {"host", "accept", "accept-encoding", "connection"}
