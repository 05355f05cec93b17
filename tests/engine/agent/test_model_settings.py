"""Settings that a model cannot follow are named when a folder is opened, and nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.world.engine import opened

GPT, CLAUDE, MISTRAL = "openai/gpt-5", "anthropic/claude-opus-4-6", "mistral/codestral-latest"


@pytest.mark.fast_cases("agent7-lines7", "agent6-lines6")
@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ({"model": GPT, "variant": "high"}, []),
        (
            {"model": GPT, "variant": "xhigh"},
            ["variant: openai/gpt-5 has no variant 'xhigh'; choose one of minimal, low"],
        ),
        ({"model": CLAUDE, "variant": "max", "temperature": 0.5}, []),
        (
            {"model": CLAUDE, "variant": "minimal"},
            ["variant: anthropic/claude-opus-4-6 has no variant 'minimal'; choose"],
        ),
        ({"model": MISTRAL, "variant": "high"}, ["variant: mistral/codestral-latest has no variants"]),
        ({"model": GPT, "temperature": 0.2}, ["temperature: openai/gpt-5 accepts no temperature, so it is not sent"]),
        ({"model": GPT, "top_p": 0.2}, ["top_p: openai/gpt-5 accepts no top_p, so it is not sent"]),
        ({"temperature": 0.2}, ["temperature: openai/gpt-5 accepts no temperature"]),
        ({"model": "openai/gpt-4.1", "temperature": 0.2, "top_p": 0.5}, []),
        ({"model": "openai/no-such-model", "variant": "high"}, []),
        ({"model": "fake/own", "variant": "low"}, ["variant: fake/own has no variant 'low'; choose one of slow"]),
        ({"model": "fake/own", "variant": "slow"}, []),
    ],
)
async def test_what_a_model_cannot_follow_is_named(
    environ: dict[str, str], tmp_path: Path, agent: dict[str, Any], lines: list[str]
) -> None:
    own = {"fake": {"models": {"own": {"variants": {"slow": {"speed": 0}, "off": {"disabled": True}}}}}}
    settings = {"model": GPT, "agent": {"mine": agent}, "prompts": {"gpt*": "mine"}, "provider": own}
    async with opened(environ, tmp_path, settings=settings) as world:
        warnings = (await world.client.settings.notices()).warnings
    found = [line for line in warnings if "agent.mine." in line]
    assert [line.partition("agent.mine.")[2].startswith(start) for line, start in zip(found, lines, strict=True)] == [
        True for _ in lines
    ], found
    assert any("prompts.gpt*: no prompt 'mine'" in line for line in warnings)
