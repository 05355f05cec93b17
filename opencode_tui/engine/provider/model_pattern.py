"""Patterns for models: which rules of a table apply to a model, whatever provider or aggregator serves it.

A pattern with a slash is compared with `provider/model`, any other with the model's short name; `*`, `?` and `[…]` as in the
shell, letters of either case. `short_name` removes what others put before a name: `accounts/fireworks/models/`, `us.anthropic.`.
"""

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from opencode_tui.schema.model import Model

_MAKERS = (
    "ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai", "nvidia",
    "openai", "qwen", "writer", "xai", "zai",
)  # fmt: skip
_REGIONS = ("us", "us-gov", "eu", "apac", "ap", "jp", "au", "ca", "global")
"""What Bedrock, OCI, Databricks and Snowflake put before a name. Source: the names in litellm's table."""
_FIXED = re.compile(r"[^*?\[]*")
_PREFIX = re.compile(rf"(?:(?:{'|'.join((*_REGIONS, *_MAKERS))})\.|databricks-|anthropic-|openai-)+")


def short_name(model_id: str) -> str:
    """Return the model's own name in lower case, without path, region and maker."""
    name = model_id.lower().rstrip("/").rpartition("/")[2]
    found = _PREFIX.match(name)
    return name[found.end() :] if found and found.end() < len(name) else name


def name_prefix(model_id: str) -> str:
    """Return what comes before the short name, in lower case: the path, the region and the maker."""
    name = model_id.lower()
    return name[: len(name) - len(short_name(model_id))]


def matches_name(name: str, pattern: str) -> bool:
    """Return whether a pattern without a slash applies to a short name."""
    return _parse(pattern).matches(name)


class ModelName(Struct, frozen=True):
    """The names of a model in lower case: `provider/model`, the same with the name that the provider gets, its short name."""

    full: str
    sent: str
    short: str

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern applies to the model."""
        wanted = _parse(pattern)
        if not wanted.has_path:
            return wanted.matches(self.short)
        return wanted.matches(self.full) or (self.sent != self.full and wanted.matches(self.sent))


class _Pattern(Struct, frozen=True):
    """A pattern in lower case: what comes before its first wildcard, and the rest."""

    start: str
    rest: str
    has_path: bool

    def matches(self, name: str) -> bool:
        if not name.startswith(self.start):
            return False
        # Compiling an expression takes longer than all else, and most patterns end with their only star.
        rest = self.rest
        return rest == "*" or (len(name) == len(self.start) if not rest else fnmatchcase(name, self.start + rest))


@lru_cache(maxsize=1024)
def _parse(pattern: str) -> _Pattern:
    """Return a pattern; a listing compares the same few hundred with each of 1,500 models."""
    wanted = pattern.lower()
    fixed = _FIXED.match(wanted)
    assert fixed is not None
    return _Pattern(fixed[0], wanted[fixed.end() :], "/" in wanted)


def name_of(model: Model) -> ModelName:
    """Return the names of a model."""
    sent = model.api_id or model.model_id
    provider = model.provider_id.lower()
    return ModelName(f"{provider}/{model.model_id.lower()}", f"{provider}/{sent.lower()}", short_name(sent))
