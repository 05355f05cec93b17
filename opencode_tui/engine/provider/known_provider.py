"""Providers that need no address in the settings: their names, URLs, and the environment variables of their keys.

The table is `known_providers.json`. Providers with a base URL use one of the direct formats; the others go through litellm, with
litellm's name for them. Any other provider of litellm's table works too, with the variable `<NAME>_API_KEY`. The default model is
chosen in this order.
"""

from pathlib import Path

from msgspec import Struct
from msgspec.json import decode

from opencode_tui.schema.model import Adapter


class LocalProgram(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that serves models on this machine: its name in sentences, what starts it, how a model gets more context."""

    name: str
    start: str
    advice: str


class KnownProvider(Struct, frozen=True, forbid_unknown_fields=True):
    """A provider. `tables` are its names in litellm's table, `package` is the package of OpenCode's that only speaks to it.

    `preferred` are IDs of tool-calling models, best first: the default models for users with a key, as far as they are listed and
    not retired; the last one where no list is known. With `is_named_by_customer` models have names of the customer's own, so that
    there is no default. With `is_regional` a model of another region or maker may not be reachable. With `has_list` its own list
    of models, `/models` below its address, is read. One with `local` is found by its port on this machine without a setting.
    """

    id: str
    name: str
    adapter: Adapter = "litellm"
    package: str = ""
    base_url: str | None = None
    variables: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    litellm: str = ""
    is_named_by_customer: bool = False
    is_regional: bool = False
    needs_key: bool = True
    has_list: bool = False
    preferred: tuple[str, ...] = ()
    local: LocalProgram | None = None
    source: str = ""


KNOWN = decode(Path(__file__).with_name("known_providers.json").read_bytes(), type=tuple[KnownProvider, ...])

_BY_ID = {provider.id: provider for provider in KNOWN}
_BY_TABLE = {table: provider for provider in KNOWN for table in provider.tables}
_BY_PACKAGE = {provider.package: provider for provider in KNOWN if provider.package}


def find_known(provider_id: str) -> KnownProvider | None:
    """Return the provider with this ID or litellm name."""
    return _BY_ID.get(provider_id) or _BY_TABLE.get(provider_id)


def is_local(provider_id: str) -> bool:
    """Return whether this is the ID of a provider whose server on this machine may be found without a setting."""
    known = _BY_ID.get(provider_id)
    return known is not None and known.local is not None


def find_package(name: str) -> KnownProvider | None:
    """Return the provider that a package of OpenCode, named without a version, only speaks to."""
    return _BY_PACKAGE.get(name)


def through_litellm(provider_id: str) -> KnownProvider:
    """Return a provider that only litellm knows."""
    variable = provider_id.upper().replace("-", "_").replace(".", "_") + "_API_KEY"
    return KnownProvider(
        provider_id, provider_id, variables=(variable,), tables=(provider_id,), litellm=provider_id, needs_key=False
    )
