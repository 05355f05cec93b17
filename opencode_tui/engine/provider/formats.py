"""The formats of providers as code: `FORMAT` of `decode/NAME_request.py`, imported at the first request that needs it."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol

from msgspec import Struct

from opencode_tui.engine.provider.decode.delta import WireDelta
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.schema.model import Adapter


class Decoder(Protocol):
    """Decodes the bytes of one response to deltas; raises ProtocolError for bytes that are not a response."""

    def feed(self, chunk: bytes) -> list[WireDelta]:
        """Return the deltas that these bytes complete."""
        ...

    def end(self) -> list[WireDelta]:
        """Return the deltas that the end of the body completes."""
        ...


def bearer(key: str | None) -> dict[str, str]:
    """Return the header with a key; none without one."""
    return {"authorization": f"Bearer {key}"} if key else {}


class ProviderFormat(Struct, frozen=True, kw_only=True):
    """A format: the path of requests, their encoder, the decoder of responses, the headers with the key.

    `metadata_key` is under which name records have the metadata of a response; OpenAI's two formats share one, but no key of it.
    `list_path` is the path of the list of models.
    """

    metadata_key: str
    path: Callable[[LlmRequest], str]
    encode: Callable[[LlmRequest], bytes]
    decoder: Callable[[], Decoder]
    credentials: Callable[[str | None], dict[str, str]] = bearer
    list_path: str = "/models"


@cache
def find_format(adapter: Adapter) -> ProviderFormat:
    """Return the format that an adapter uses, any but litellm and the demo. Blocks for the import of its two modules."""
    package = "chatgpt.request" if adapter == "chatgpt" else f"decode.{adapter}_request"
    found: ProviderFormat = import_module(f"opencode_tui.engine.provider.{package}").FORMAT
    return found
