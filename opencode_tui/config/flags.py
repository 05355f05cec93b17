"""The OPENCODE_* environment variables, read once. Source: reference, section 32."""

from collections.abc import Mapping

from msgspec import Struct

from opencode_tui.schema.error import ConfigError

DEFAULT_OUTPUT_TOKEN_MAX = 32_000
"""Tokens of an answer at most. Source: seed 000."""


class Flags(Struct, frozen=True):
    """What the environment asks for; empty texts count as unset."""

    config: str | None = None
    config_content: str | None = None
    config_dir: str | None = None
    permission: str | None = None
    managed_config_dir: str | None = None
    server_password: str | None = None
    is_autocompact_disabled: bool = False
    is_prune_disabled: bool = False
    is_share_automatic: bool = False
    is_share_disabled: bool = False
    is_claude_code_disabled: bool = False
    output_token_max: int = DEFAULT_OUTPUT_TOKEN_MAX


def read_flags(environ: Mapping[str, str]) -> Flags:
    """Return the flags of an environment; raises ConfigError for a number that is none."""
    return Flags(
        config=_text(environ, "OPENCODE_CONFIG"),
        config_content=_text(environ, "OPENCODE_CONFIG_CONTENT"),
        config_dir=_text(environ, "OPENCODE_CONFIG_DIR"),
        permission=_text(environ, "OPENCODE_PERMISSION"),
        managed_config_dir=_text(environ, "OPENCODE_TEST_MANAGED_CONFIG_DIR"),
        server_password=_text(environ, "OPENCODE_SERVER_PASSWORD"),
        is_autocompact_disabled=_is_set(environ, "OPENCODE_DISABLE_AUTOCOMPACT"),
        is_prune_disabled=_is_set(environ, "OPENCODE_DISABLE_PRUNE"),
        is_share_automatic=_is_set(environ, "OPENCODE_AUTO_SHARE"),
        is_share_disabled=_is_set(environ, "OPENCODE_DISABLE_SHARE"),
        is_claude_code_disabled=_is_set(environ, "OPENCODE_DISABLE_CLAUDE_CODE"),
        output_token_max=_positive(environ, "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX", DEFAULT_OUTPUT_TOKEN_MAX),
    )


def _text(environ: Mapping[str, str], name: str) -> str | None:
    value = environ.get(name, "")
    return value if value.strip() else None


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("true", "1")


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    text = _text(environ, name)
    if text is None:
        return default
    if not (text.strip().isascii() and text.strip().isdigit() and len(text) < 12 and int(text) > 0):
        raise ConfigError(
            f"{name} is not a whole number above 0; set it to tokens, as in {name}={default}, or unset it"
        )
    return int(text)
