"""Patterns for models: which rules of a table apply to a model, whatever provider or aggregator serves it.

A pattern with a slash is compared with `provider/model`, any other with the model's short name; `*`, `?` and `[…]` as in the
shell, letters of either case. `short_name` removes what others put before a name: `accounts/fireworks/models/`, `us.anthropic.`.
"""

import re
from fnmatch import fnmatchcase

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


class ModelName(Struct, frozen=True):
    """The names of a model in lower case: `provider/model`, the same with the name that the provider gets, its short name."""

    full: str
    sent: str
    short: str

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern applies to the model."""
        wanted = pattern.lower()
        if "/" not in wanted:
            return _matches(wanted, self.short)
        return _matches(wanted, self.full) or (self.sent != self.full and _matches(wanted, self.sent))


def _matches(pattern: str, name: str) -> bool:
    fixed = _FIXED.match(pattern)
    assert fixed is not None
    start, rest = fixed[0], pattern[fixed.end() :]
    if not name.startswith(start):
        return False
    # Compiling an expression takes longer than all else, and most patterns end with their only star.
    return rest == "*" or (name == start if not rest else fnmatchcase(name, pattern))


def name_of(model: Model) -> ModelName:
    """Return the names of a model."""
    sent = model.api_id or model.model_id
    provider = model.provider_id.lower()
    return ModelName(f"{provider}/{model.model_id.lower()}", f"{provider}/{sent.lower()}", short_name(sent))
