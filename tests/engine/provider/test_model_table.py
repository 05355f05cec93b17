"""Limits and prices out of litellm's table, and their cache."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.engine.provider.model_table import ListedModel, ModelTable
from opencode_tui.schema.model import Cost, Limit

TABLE = {
    "sample_spec": {"litellm_provider": "one of many", "mode": "chat"},
    "gpt-x": {
        "litellm_provider": "openai",
        "mode": "chat",
        "max_input_tokens": 128_000,
        "max_output_tokens": 16_384,
        "input_cost_per_token": 2.5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
        "supports_function_calling": True,
        "supports_vision": True,
    },
    "gemini/pro": {
        "litellm_provider": "gemini",
        "mode": "chat",
        "max_tokens": 1000,
        "input_cost_per_token": 1.25e-06,
        "input_cost_per_token_above_200k_tokens": 2.5e-06,
        "output_cost_per_token": None,
    },
    "drawing": {"litellm_provider": "openai", "mode": "image_generation"},
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    return path


def test_only_chat_models_are_listed_with_exact_prices(source: Path) -> None:
    listed = ModelTable(source=source).models(("openai",))
    assert listed == {
        "gpt-x": ListedModel(
            128_000, 16_384, ("2.5", "10", "1.25", "2.5", "", ""), (), True, False, True, False, "", True, ""
        ),
    }
    model = listed["gpt-x"].model("openai", "gpt-x", adapter="openai", api_id="gpt-x")
    assert model.limit == Limit(context=128_000, output=16_384)
    sent, read = Decimal("2.5"), Decimal("1.25")
    assert model.cost == Cost(input=sent, output=Decimal(10), cache_read=read, cache_write=sent, is_known=True)


def test_large_requests_have_prices_of_their_own(source: Path) -> None:
    (listed,) = ModelTable(source=source).models(("gemini",)).values()
    model = listed.model("google", "pro", adapter="litellm", api_id="gemini/pro")
    assert (model.cost.input, [(one.above, one.input) for one in model.cost.large]) == (1.25, [(200_000, 2.5)])


@pytest.mark.parametrize(
    ("listed", "prices"),
    [
        ({"input_cost_per_token": 1e-6}, [(0, "1", "0", "1", "1")]),
        (
            {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7},
            [(0, "1", "2", "0.1", "1")],
        ),
        (
            {
                "input_cost_per_token": 1e-6,
                "input_cost_per_token_above_272k_tokens": 3e-6,
                "output_cost_per_token": 2e-6,
                "output_cost_per_token_above_272k_tokens": 4e-6,
                "input_cost_per_token_above_272k_tokens_priority": 9e-6,
            },
            [(0, "1", "2", "1", "1"), (272_000, "3", "4", "3", "3")],
        ),
        (
            {
                "tiered_pricing": [
                    {"input_cost_per_token": 4e-6, "output_cost_per_token": 8e-6, "range": [256000.0, 1e6]},
                    {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "range": [0, 256000.0]},
                ]
            },
            [(0, "1", "2", "1", "1"), (256_000, "4", "8", "4", "4")],
        ),
        ({}, [(0, "0", "0", "0", "0")]),
    ],
)
def test_prices_are_read_as_the_table_writes_them(
    listed: dict[str, object], prices: list[tuple[object, ...]], tmp_path: Path
) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"m": {"litellm_provider": "p", "mode": "chat", **listed}}))
    (one,) = ModelTable(source=table).models(("p",)).values()
    cost = one.model("p", "m", adapter="litellm", api_id="p/m").cost
    found = [(0, cost), *((tier.above, tier) for tier in cost.large)]
    assert [(above, *map(str, (of.input, of.output, of.cache_read, of.cache_write))) for above, of in found] == prices


def test_the_cache_answers_until_the_table_changes(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert list(ModelTable(cache=cache, source=source).models(("openai",))) == ["gpt-x"]
    kept = json.loads((cache / "models.json").read_text())
    kept["providers"] = {"openai": {"kept": [1, 1, ["0"] * 6, [], True, False, False, False, "", True]}}
    (cache / "models.json").write_text(json.dumps(kept))
    assert list(ModelTable(cache=cache, source=source).models(("openai",))) == ["kept"]
    os.utime(source, ns=(1, 1))
    assert list(ModelTable(cache=cache, source=source).models(("openai",))) == ["gpt-x"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"source": 1}'])
def test_a_damaged_cache_costs_nothing_but_time(source: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "models.json").write_bytes(content)
    assert list(ModelTable(cache=tmp_path, source=source).models(("openai",))) == ["gpt-x"]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert ModelTable(cache=tmp_path / "file" / "below", source=source).provider_ids() == ["gemini", "openai"]


def test_a_missing_or_damaged_table_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    assert ModelTable(source=tmp_path / "none.json").provider_ids() == []
    assert ModelTable(source=tmp_path / "broken.json").provider_ids() == []


@pytest.mark.slow
def test_the_installed_table_is_read_without_importing_litellm() -> None:
    code = (
        "import sys; from opencode_tui.engine.provider.model_table import ModelTable;"
        "table = ModelTable(); assert len(table.models(('anthropic',))) > 5;"
        "print([name for name in ('litellm', 'httpx', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
