"""Counts what a request really takes, with the tokenizers that litellm brings along; nothing is fetched.

    counter = TokenCounter("o200k_base")          # or "cl100k_base", "claude"
    counter.request(body, api="openai")

A fourth one, "tekken", is that of Mistral's models; `TEKKEN` names its file, `tekken_240911.json` of the package mistral-common.

The frame around the texts follows OpenAI's published recipe: three tokens a message, three before the answer. A tool's schema
counts as its JSON, a picture by its provider's rule.
"""

import base64
import importlib.util
import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol

from tests.support.provider.model_script import Answer, Api, failure

Vocabulary = Literal["o200k_base", "cl100k_base", "claude", "tekken"]
BUNDLED: Sequence[Vocabulary] = ("o200k_base", "cl100k_base", "claude")
"""Those of litellm."""

_MESSAGE = 3
_CALL = 4
_TOOL = 6
_FOLDER = "litellm_core_utils/tokenizers"


class _Encoding(Protocol):
    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Window:
    """What a counting server takes: requests of at most so many tokens, with the answer's if `counts_output`; 0 takes all."""

    tokens: int = 0
    vocabulary: Vocabulary = "o200k_base"
    counts_output: bool = False


class TokenCounter:
    """Counts with one vocabulary."""

    def __init__(self, vocabulary: Vocabulary = "o200k_base") -> None:
        encoding = _encoding(vocabulary)
        self.text = lru_cache(4096)(encoding.count)
        """Returns the tokens of a text."""

    def request(self, body: dict[str, Any], *, api: Api) -> int:
        """Return the tokens of a request's body."""
        count = self._content(body.get("system"), api) + _MESSAGE
        for message in body.get("messages", []):
            count += _MESSAGE + self.text(message["role"]) + self._content(message.get("content"), api)
            for field in ("reasoning_content", "reasoning"):
                count += self.text(message.get(field) or "")
            for call in message.get("tool_calls") or ():
                count += _CALL + self.text(call["function"]["name"]) + self.text(call["function"]["arguments"])
        return count + sum(_TOOL + self.text(json.dumps(tool, ensure_ascii=False)) for tool in body.get("tools") or ())

    def answer(self, answer: Answer) -> int:
        """Return the tokens of an answer."""
        calls = sum(_CALL + self.text(call.tool) + self.text(call.raw()) for call in answer.calls)
        return max(1, self.text(answer.text) + self.text(answer.reasoning) + calls)

    def _content(self, content: object, api: Api) -> int:
        if isinstance(content, str):
            return self.text(content)
        return sum(self._block(block, api) for block in content) if isinstance(content, list) else 0

    def _block(self, block: dict[str, Any], api: Api) -> int:
        match block:
            case {"type": "text", "text": text} | {"type": "thinking", "thinking": text}:
                return self.text(text)
            case {"type": "tool_use"}:
                return _CALL + self.text(block["name"]) + self.text(json.dumps(block["input"], ensure_ascii=False))
            case {"type": "tool_result"}:
                return _CALL + self._content(block.get("content"), api)
            case {"type": "image_url"}:
                return _picture(block["image_url"]["url"].partition(",")[2], api)
            case {"type": "image"}:
                return _picture(block["source"]["data"], api)
            case _:
                return self.text(json.dumps(block))


def refusal(window: Window, count: int, *, api: Api) -> Answer:
    """Return the answer with which the providers of a wire format refuse a request that is too long."""
    if api == "anthropic":
        return failure(
            400, f"prompt is too long: {count} tokens > {window.tokens} maximum", kind="invalid_request_error"
        )
    message = (
        f"This model's maximum context length is {window.tokens} tokens. However, your messages resulted in {count} tokens. "
        "Please reduce the length of the messages."
    )
    return failure(400, message, kind="context_length_exceeded")


@lru_cache
def _encoding(vocabulary: Vocabulary) -> _Encoding:
    if vocabulary == "tekken":
        return _Tekken(Path(os.environ["TEKKEN"]))
    package = importlib.util.find_spec("litellm")
    assert package is not None and package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / _FOLDER
    if vocabulary == "claude":
        return _Claude(folder / "anthropic_tokenizer.json")
    return _Tiktoken(vocabulary, folder)


class _Tiktoken:
    def __init__(self, name: str, folder: Path) -> None:
        import tiktoken

        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            self._encoding = tiktoken.get_encoding(name)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before

    def count(self, text: str) -> int:
        return len(self._encoding.encode(text, disallowed_special=()))


class _Tekken:
    def __init__(self, file: Path) -> None:
        import tiktoken

        known = json.loads(file.read_bytes())
        config = known["config"]
        size = config["default_vocab_size"] - config["default_num_special_tokens"]
        ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in known["vocab"][:size]}
        self._encoding = tiktoken.Encoding(
            "tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}
        )

    def count(self, text: str) -> int:
        return len(self._encoding.encode(text))


class _Claude:
    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _picture(data: str, api: Api) -> int:
    """Return the tokens of a PNG by the provider's published rule."""
    raw = base64.b64decode(data)
    if not raw.startswith(b"\x89PNG"):
        return 0
    width, height = struct.unpack(">II", raw[16:24])
    if api == "anthropic":
        scale = min(1.0, 1568 / max(width, height))
        return min(1600, ceil(width * scale * height * scale / 750))
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)
