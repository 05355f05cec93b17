"""The OPENCODE_* environment variables, read once. Source: docs/internals/settings.md#flags."""

from collections.abc import Mapping

from msgspec import Struct

from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.suggest import did_you_mean, nearest

_NEAR = 0.93
"""Least similarity of a mistyped variable and ours; high because OpenCode has variables that we do not have."""

DEFAULT_OUTPUT_TOKEN_MAX = 32_000
"""Most tokens of a response. Source: docs/internals/loop.md#one-step."""


class Flags(Struct, frozen=True):
    """Values of the environment variables; empty ones count as unset."""

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
    is_shared_engine_disabled: bool = False
    output_token_max: int = DEFAULT_OUTPUT_TOKEN_MAX
    is_lsp_disabled: bool = False
    is_models_fetch_disabled: bool = False
    is_local_models_disabled: bool = False


def read_flags(environ: Mapping[str, str]) -> Flags:
    """Return the flags of an environment; raises ConfigError for an invalid number."""
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
        is_shared_engine_disabled=_is_set(environ, "OPENCODE_DISABLE_SHARED_ENGINE"),
        is_lsp_disabled=_is_set(environ, "OPENCODE_DISABLE_LSP"),
        is_models_fetch_disabled=_is_set(environ, "OPENCODE_DISABLE_MODELS_FETCH"),
        is_local_models_disabled=_is_set(environ, "OPENCODE_DISABLE_LOCAL_MODELS"),
        output_token_max=_positive(environ, "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX", DEFAULT_OUTPUT_TOKEN_MAX),
    )


_BOOLEANS = (
    "DISABLE_AUTOCOMPACT", "DISABLE_PRUNE", "AUTO_SHARE", "DISABLE_SHARE", "DISABLE_CLAUDE_CODE", "DISABLE_SHARED_ENGINE",
    "DISABLE_LSP", "DISABLE_LSP_DOWNLOAD", "DISABLE_MODELS_FETCH", "DISABLE_LOCAL_MODELS",
)  # fmt: skip
_OTHERS = (
    "CONFIG", "CONFIG_CONTENT", "CONFIG_DIR", "PERMISSION", "TEST_MANAGED_CONFIG_DIR", "SERVER_PASSWORD",
    "EXPERIMENTAL_OUTPUT_TOKEN_MAX",
)  # fmt: skip
_PREFIX = "OPENCODE_"

SETTING_VARIABLES = frozenset(f"{_PREFIX}{name}" for name in (*_BOOLEANS, *_OTHERS) if name != "SERVER_PASSWORD")
"""The variables that change what an engine does."""


def find_flag_faults(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (variable, message) for switches with invalid values and for mistyped names."""
    faults: list[tuple[str, str]] = []
    known = {f"{_PREFIX}{name}" for name in (*_BOOLEANS, *_OTHERS)}
    for name in sorted(name for name in environ if name.startswith(_PREFIX)):
        if name.removeprefix(_PREFIX) in _BOOLEANS:
            if environ[name].strip().lower() not in ("", "true", "1", "false", "0"):
                faults.append((name, "expected true or false (ignored)"))
        elif name not in known:
            near = nearest(name, known, similarity=_NEAR)
            faults += [(name, f"unknown variable (ignored), {did_you_mean(near)}")] if near else []
    return faults


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
        raise ConfigError(f"{name} is not an integer above 0; set it to tokens, as in {name}={default}, or unset it")
    return int(text)
