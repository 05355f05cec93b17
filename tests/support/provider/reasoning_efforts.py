"""The efforts that models accept, by the table of another agent: npm @earendil-works/pi-ai 1.6.0, `dist/providers/data/*.json`."""

import json
from functools import cache
from pathlib import Path

from msgspec import Struct


class Accepted(Struct, frozen=True):
    """A model of a provider with the efforts that it accepts."""

    provider: str
    model: str
    efforts: tuple[str, ...]


@cache
def accepted() -> tuple[Accepted, ...]:
    """Return all models of the table."""
    lines = Path(__file__).with_name("reasoning_efforts.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Accepted(row["provider"], row["model"], tuple(row["efforts"].split())) for row in rows)


def violations(model: str, effort: str, provider: str = "") -> list[str]:
    """Return what a model rejects of an effort; nothing of a model that the table does not have."""
    known = [one for one in accepted() if one.model == model and provider in ("", one.provider)]
    if not known or any(effort in one.efforts for one in known):
        return []
    return [f"Unsupported value: {effort!r} is not supported with the {model} model"]
