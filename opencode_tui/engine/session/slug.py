"""A short name of two words for a session, for file names; not unique and no key. Source: reference, section 1."""

import secrets

_ADJECTIVES = (
    "amber", "brisk", "calm", "clever", "coral", "crisp", "dapper", "eager", "fair", "gentle", "golden", "hardy", "hidden", "keen",
    "lively", "lucid", "mellow", "mossy", "neat", "noble", "patient", "plain", "quick", "quiet", "rustic", "silver", "steady",
    "tidy", "warm",
)  # fmt: skip
_NOUNS = (
    "acorn", "anchor", "badger", "beacon", "birch", "brook", "canyon", "cedar", "comet", "delta", "ember",
    "falcon", "fern", "garnet", "harbor", "heron", "island", "juniper", "lantern", "maple", "meadow", "otter",
    "pebble", "quarry", "ridge", "river", "sparrow", "summit", "thistle", "valley", "willow",
)  # fmt: skip


def new_slug() -> str:
    """Return a random `adjective-noun`."""
    first, second = secrets.token_bytes(2)
    return f"{_ADJECTIVES[first % len(_ADJECTIVES)]}-{_NOUNS[second % len(_NOUNS)]}"
