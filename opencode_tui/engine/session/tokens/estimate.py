"""Estimate the tokens of a request: fixed rules count the text, and a ratio per model and kind of text corrects them.

The rules count words, digits, signs and characters of other scripts, at values between the common tokenizers. The ratios start at 1
and follow the usage that the model's provider reports; one small file per model, `<state>/tokens/`, keeps them for the next run.
Losing it costs precision only: an unreadable or older file counts as absent, a failed write is logged. Several processes may learn
at once: each continues from the newest file, and at worst one report is lost.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable
from hashlib import sha256
from operator import mul
from pathlib import Path
from threading import Lock

from msgspec import Struct

from opencode_tui.engine.provider.llm import (
    CallBlock,
    LlmRequest,
    MediaBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    ToolSpec,
)
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.session.message import Tokens
from opencode_tui.storage.files import AtomicWriter, FileSystem

logger = logging.getLogger(__name__)

KINDS = ("words", "numbers", "signs", "cjk", "scripts", "frame", "thinking", "media")
_WORDS, _NUMBERS, _SIGNS, _CJK, _SCRIPTS, _FRAME, _THINKING, _MEDIA = range(len(KINDS))
"""The kinds that have a ratio: ASCII words, digits, all other ASCII; Chinese, Japanese and Korean; all other scripts; frames
of messages and definitions of tools; earlier reasoning; pictures and documents.
"""

Counts = tuple[float, ...]
"""Tokens by the fixed rules, in the order of `KINDS`."""

Block = TextBlock | MediaBlock | ThinkingBlock | CallBlock | ResultBlock
"""A piece of a message."""

PLAUSIBLE = 3.0
"""A report that differs from the estimate by more than this factor is ignored."""

_SPREADS = (0.1, 0.4, 0.4, 0.4, 0.4, 0.2, 0.5, 0.5)
"""Expected error of each ratio; a report moves the ratios in proportion to its square."""
_NOISE = 0.02
"""Expected error of a request with correct ratios, as a share of it."""
_LEAST, _MOST = 0.25, 4.0
"""Bounds of a ratio, so that a wrong report cannot ruin the estimates."""

_REQUEST, _MESSAGE, _CALL, _TOOL = 10.0, 4.0, 6.0, 12.0
"""Overhead in tokens of a request, a message, a call or its result, and the definition of a tool."""
_BOUND = 3.0
"""Maximum tokens of a non-ASCII character; an ASCII character takes at most one."""
_UNBOUNDED = float(1 << 60)

_NONE = (0.0,) * len(KINDS)

_LAYOUT = 2
"""The version of the file; files of other versions are ignored."""
_CACHED = 20_000
"""Maximum texts whose counts stay in memory; each takes about 250 bytes."""
_SHORT = 64
"""Characters up to which counting a text is faster than looking it up."""


def _table(*groups: tuple[bytes, str]) -> bytes:
    """Return a table for `bytes.translate` that maps each group of bytes to a letter and all others to a blank."""
    table = bytearray(b" " * 256)
    for members, letter in groups:
        for byte in members:
            table[byte] = ord(letter)
    return bytes(table)


_LETTER_BYTES, _DIGIT_BYTES, _BLANK_BYTES = bytes([*range(65, 91), *range(97, 123)]), bytes(range(48, 58)), b" \t\r\n"
_SIGN_BYTES = bytes(set(range(128)) - {*_LETTER_BYTES, *_DIGIT_BYTES, *_BLANK_BYTES})
_VISIBLE_BYTES = bytes(set(range(256)) - {*_BLANK_BYTES})
_RULES = (
    (_WORDS, _table((_LETTER_BYTES, "x")), (b" x", 1.02), (b"xxxxxx", 0.08)),  # words, and every six letters of one
    (_NUMBERS, _table((_DIGIT_BYTES, "x")), (b" x", 1.45), (b"xxx", 0.95)),  # runs of digits, and every three of one
    (_SIGNS, _table((_SIGN_BYTES, "x")), (b" x", 0.45), (b"x", 0.13)),  # runs of signs, and each sign
    (_SIGNS, _table((b"\n", "n"), (_VISIBLE_BYTES, "x")), (b"xn", 1.6), (b"n ", 0.4)),  # ends of lines, indents
)
"""The kind, a table, and the tokens of each occurrence of a pattern in the translated text."""

_FOLLOWERS = bytes(range(0x80, 0xC0))
"""The second to fourth bytes of characters in UTF-8; without them each character is its first byte."""
_SCRIPT_TABLE = _table(
    (bytes(range(0xE3, 0xEA)), "h"),  # Han and kana
    (bytes([*range(0xEA, 0xEE), 0xEF]), "w"),  # Hangul and full-width forms
    (b"\xe2", "s"),  # typographic signs
    (bytes([*range(0xC2, 0xE2), 0xEE, *range(0xF0, 0xF5)]), "o"),
)
_SCRIPT_RULES = ((_CJK, b"h", 0.95), (_CJK, b"w", 0.8), (_SCRIPTS, b"s", 0.7), (_SCRIPTS, b"o", 1.5))


def count_text(text: str) -> Counts:
    """Return the tokens of a text by the fixed rules; 25 ms for a million characters."""
    counts = [0.0] * len(KINDS)
    data = text.encode("utf-8", "surrogatepass").translate(None, _FOLLOWERS)
    for kind, table, (first, many), (second, more) in _RULES:
        kinds = b" " + data.translate(table)
        counts[kind] += kinds.count(first) * many + kinds.count(second) * more
    if not text.isascii():
        scripts = data.translate(_SCRIPT_TABLE)
        for kind, letter, each in _SCRIPT_RULES:
            counts[kind] += scripts.count(letter) * each
    return tuple(counts)


class Ratios(Struct, frozen=True):
    """The tokens of one model per token by the fixed rules, by kind, and the number of reports that they are based on."""

    values: tuple[float, ...] = (1.0,) * len(KINDS)
    reports: int = 0

    def tokens(self, counts: Counts) -> float:
        """Return the tokens in this model."""
        return sum(map(mul, self.values, counts))

    def learned(self, counts: Counts, reported: int) -> "Ratios":
        """Return the ratios after a report of the tokens of these counts; unchanged when it is implausible."""
        expected = self.tokens(counts)
        if reported <= 0 or not expected / PLAUSIBLE <= reported <= expected * PLAUSIBLE:
            return self
        pulls = [spread**2 * count for spread, count in zip(_SPREADS, counts, strict=True)]
        step = (reported - expected) / (sum(map(mul, pulls, counts)) + (_NOISE * reported) ** 2)
        values = [_within(ratio + step * pull) for ratio, pull in zip(self.values, pulls, strict=True)]
        return Ratios(tuple(values), self.reports + 1)


def _within(ratio: float) -> float:
    return min(max(ratio, _LEAST), _MOST)


class ModelEstimate:
    """Estimates the pieces of requests to one model.

    `of_text` counts a text, `of_media` returns the tokens of a picture or document, `scale` multiplies every result.
    """

    def __init__(
        self,
        *,
        of_text: Callable[[str], Counts] = count_text,
        of_media: Callable[[MediaBlock], float],
        ratios: Ratios | None = None,
        scale: float = 1.0,
    ) -> None:
        self._of_text = of_text
        self._of_media = of_media
        self._ratios = ratios or Ratios()
        self._scale = scale
        self.reports = self._ratios.reports
        """The number of reports that the ratios are based on."""
        self.request_frame = self._tokens(_only(_FRAME, _REQUEST + _MESSAGE))
        """Tokens of a request without content; its system prompt counts as a message."""
        self.message_frame = self._tokens(_only(_FRAME, _MESSAGE))
        """Tokens of a message without content."""

    def text(self, text: str) -> float:
        """Return the tokens of a text."""
        return self._tokens(self._of_text(text))

    def tool(self, tool: ToolSpec) -> float:
        """Return the tokens of a tool's definition."""
        return self._tokens(self._count_tool(tool))

    def block(self, block: Block) -> float:
        """Return the tokens of a piece of a message."""
        return self._tokens(self._count_block(block))

    def request(self, request: LlmRequest) -> float:
        """Return the tokens of a request, without the answer."""
        return self._tokens(self.count(request))

    def count(self, request: LlmRequest) -> Counts:
        """Return the tokens of a request by the fixed rules."""
        counts = [self._of_text(segment) for segment in request.system]
        counts += map(self._count_tool, request.tools)
        frame = _REQUEST + _MESSAGE
        for entry in request.messages:
            if isinstance(entry, ToolEntry):
                counts += map(self._count_block, entry.results)
            else:
                frame += _MESSAGE
                counts += map(self._count_block, entry.content)
        return _add(_only(_FRAME, frame), *counts)

    def scaled(self, scale: float) -> "ModelEstimate":
        """Return the same estimate with every result multiplied."""
        return ModelEstimate(of_text=self._of_text, of_media=self._of_media, ratios=self._ratios, scale=scale)

    def _tokens(self, counts: Counts) -> float:
        return self._scale * self._ratios.tokens(counts)

    def _count_tool(self, tool: ToolSpec) -> Counts:
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        return _only(_FRAME, _TOOL + sum(self._of_text(f"{tool.name} {tool.description} {schema}")))

    def _count_block(self, block: Block) -> Counts:
        match block:
            case TextBlock():
                return self._of_text(block.text)
            case MediaBlock():
                return _only(_MEDIA, self._of_media(block))
            case ThinkingBlock():
                return _only(_THINKING, sum(self._of_text(block.text)))
            case CallBlock():
                arguments = json.dumps(block.input, ensure_ascii=False)
                return _add(self._of_text(f"{block.tool} {arguments}"), _only(_FRAME, _CALL))
            case ResultBlock():
                media = _only(_MEDIA, sum(map(self._of_media, block.media)))
                return _add(self._of_text(block.text), media, _only(_FRAME, _CALL))


def _only(kind: int, tokens: float) -> Counts:
    return (*_NONE[:kind], tokens, *_NONE[kind + 1 :])


def _add(*counts: Counts) -> Counts:
    return tuple(map(sum, zip(*counts, strict=True)))


def _most_of_text(text: str) -> Counts:
    """Return more tokens than a text takes in any tokenizer."""
    return _only(_WORDS, len(text) if text.isascii() else _BOUND * len(text))


_UPPER = ModelEstimate(of_text=_most_of_text, of_media=lambda _: _UNBOUNDED)
"""An upper bound of the tokens of a request; far cheaper than an estimate."""


class TokenEstimator:
    """Estimates requests and learns the ratios of all models, which `folder` stores. Thread-safe.

    Blocks for a file of some 300 bytes when a model is first used.
    """

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._ratios: dict[ModelRef, tuple[int, Ratios]] = {}
        self._texts: dict[tuple[int, int], Counts] = {}
        self._media: dict[tuple[ModelRef, int, int], int] = {}
        self._learning = Lock()

    def estimate(self, request: LlmRequest, *, beyond: int | None = None) -> int:
        """Return the tokens that a request will take, without the answer; 25 ms for a million new characters, 3 ms for known ones.

        With `beyond` only sizes above it matter: a request that cannot be larger returns 0.
        """
        if beyond is not None and _UPPER.request(request) <= beyond:
            return 0
        return round(self.of_model(request.model).request(request))

    def estimate_text(self, text: str, model: Model) -> int:
        """Return the tokens that a text will take in a request to this model."""
        return round(self.of_model(model).text(text))

    def of_model(self, model: Model) -> ModelEstimate:
        """Return the estimate for the pieces of requests to a model, with its current ratios."""
        known = self._ratios.get(model.ref)
        if known is None:
            known = self._ratios[model.ref] = self._read(self._path(model.ref))
        return ModelEstimate(
            of_text=self._count_text, of_media=lambda block: self._count_media(block, model), ratios=known[1]
        )

    async def observe(self, request: LlmRequest, tokens: Tokens) -> None:
        """Learn from the tokens that the provider reported for a request, in a thread."""
        await asyncio.to_thread(self.learn, request, tokens)

    def learn(self, request: LlmRequest, tokens: Tokens) -> None:
        """Learn from the tokens that the provider reported for a request. Blocks for two small files."""
        reported = tokens.input + tokens.cache.read + tokens.cache.write
        if reported <= 0:
            return
        counts, ref = self.of_model(request.model).count(request), request.model.ref
        path = self._path(ref)
        with self._learning:
            seen, ratios = self._ratios[ref]
            if _modified(path) != seen:
                seen, ratios = self._read(path)
            learned = ratios.learned(counts, reported)
            if learned is not ratios:
                seen = self._write(path, ref, learned)
            self._ratios[ref] = seen, learned

    def _count_text(self, text: str) -> Counts:
        if len(text) <= _SHORT:
            return count_text(text)
        # By hash, so that no text is kept alive; a collision would only make an estimate worse.
        key = hash(text), len(text)
        known = self._texts.get(key)
        if known is None:
            if len(self._texts) >= _CACHED:
                self._texts.clear()
            known = self._texts[key] = count_text(text)
        return known

    def _count_media(self, block: MediaBlock, model: Model) -> int:
        from opencode_tui.engine.session.tokens.media import media_tokens  # few requests carry any

        key = model.ref, hash(block.data), len(block.data)
        if key not in self._media:
            if len(self._media) >= _CACHED:
                self._media.clear()
            self._media[key] = media_tokens(block, model)
        return self._media[key]

    def _path(self, ref: ModelRef) -> Path:
        name = str(ref)
        plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60]
        return self._folder / f"{plain}-{sha256(name.encode()).hexdigest()[:8]}.json"

    def _read(self, path: Path) -> tuple[int, Ratios]:
        """Return the modification time of a file, and its ratios; the initial ones when it cannot be used."""
        seen = _modified(path)
        try:
            stored = json.loads(path.read_bytes())
            if stored["layout"] != _LAYOUT:
                return seen, Ratios()
            values = tuple(float(stored["ratios"][kind]) for kind in KINDS)
            reports = int(stored["reports"])
        except (OSError, ValueError, RecursionError, KeyError, TypeError, OverflowError):
            return seen, Ratios()
        is_usable = reports >= 0 and all(_LEAST <= ratio <= _MOST for ratio in values)
        return seen, Ratios(values, reports) if is_usable else Ratios()

    def _write(self, path: Path, ref: ModelRef, ratios: Ratios) -> int:
        """Write the ratios of a model and return the modification time."""
        stored = {
            "layout": _LAYOUT,
            "model": str(ref),
            "reports": ratios.reports,
            "ratios": dict(zip(KINDS, ratios.values, strict=True)),
        }
        try:
            AtomicWriter(FileSystem()).write(str(path), json.dumps(stored).encode())
        except OSError as error:
            logger.warning("the token ratios of %s could not be written to %s: %s", ref, path, error.strerror)
        return _modified(path)


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
