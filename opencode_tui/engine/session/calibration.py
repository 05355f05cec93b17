"""How many tokens a request will take: an estimate for each model that learns from what its provider reports.

What was learned is kept in a small file for each model, `<state>/tokens/`, so that the first request of the next run is estimated
well. Losing it costs precision, never work: an unreadable file counts as absent, a failed write is only logged. Several processes
may learn at once: each goes on from the newest file, and at worst one report is lost.
"""

import json
import logging
import os
import re
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from opencode_tui.engine.provider.stream import LlmRequest, MediaBlock
from opencode_tui.engine.session.media_size import media_tokens
from opencode_tui.engine.session.request_shape import COUNTS, Shape, ShapeReader
from opencode_tui.engine.session.text_shape import TextShape, text_shape
from opencode_tui.engine.session.token_weights import Weights, beginning, checked, learned, plain_tokens
from opencode_tui.schema.message import Tokens
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.storage.paths import ensure

logger = logging.getLogger(__name__)

_LAYOUT = 1
"""Raised when the counts or their meaning change, so that older files are left alone."""

_REMEMBERED = 20_000
"""Texts whose counts are kept in memory; each takes some 300 bytes."""

_SHORT = 64
"""Texts up to so many characters are counted quicker than looked up."""


class Calibration:
    """Estimates and learns. May be used from several threads; blocks for a file of some 10 KB when a model is first met."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._weights: dict[ModelRef, tuple[int, Weights]] = {}
        self._shapes: dict[tuple[int, int], TextShape] = {}
        self._media: dict[tuple[str, int, int], int] = {}
        self._learning = Lock()

    def estimate(self, request: LlmRequest) -> int:
        """Return the tokens that a request will take, without the answer."""
        return round(self.weights(request.model).tokens(self.shape(request)))

    def estimate_text(self, text: str, model: Model) -> int:
        """Return the tokens that a text will take in a request to this model."""
        return round(self.weights(model).tokens(self.reader(model).text(text)))

    def shape(self, request: LlmRequest) -> Shape:
        """Return the counts of a request; some 25 ms for a million characters that were never seen, 1 ms for known ones."""
        return self.reader(request.model).request(request)

    def reader(self, model: Model) -> ShapeReader:
        """Return what reads the shapes of a request's pieces."""
        return ShapeReader(of_text=self._text, of_media=lambda block: self._medium(block, model), plain=plain_tokens)

    def weights(self, model: Model) -> Weights:
        """Return what is known of a model now."""
        known = self._weights.get(model.ref)
        if known is None:
            known = self._weights[model.ref] = self._read(self._path(model.ref))
        return known[1]

    def observe(self, request: LlmRequest, tokens: Tokens) -> None:
        """Learn from what a finished call reported. Blocks for two small files; meant for a thread."""
        count = tokens.prompt
        if count <= 0:
            return
        shape, ref = self.shape(request), request.model.ref
        with self._learning:
            self._weights[ref] = self._learn(ref, shape, count)

    def _learn(self, ref: ModelRef, shape: Shape, count: int) -> tuple[int, Weights]:
        path = self._path(ref)
        seen, weights = self._weights.get(ref, (0, None))
        if weights is None or _modified(path) != seen:
            seen, weights = self._read(path)
        after = learned(weights, shape, count)
        return (seen, weights) if after is weights else (self._write(path, ref, after), after)

    def _text(self, text: str) -> TextShape:
        if len(text) <= _SHORT:
            return text_shape(text)
        # By hash, so that no text is kept alive; two texts of one hash would only make an estimate worse.
        key = hash(text), len(text)
        known = self._shapes.get(key)
        if known is None:
            if len(self._shapes) >= _REMEMBERED:
                self._shapes.clear()
            known = self._shapes[key] = text_shape(text)
        return known

    def _medium(self, block: MediaBlock, model: Model) -> int:
        key = str(model.ref), hash(block.data), len(block.data)
        if key not in self._media:
            self._media[key] = media_tokens(block, model)
        return self._media[key]

    def _path(self, ref: ModelRef) -> Path:
        name = str(ref)
        plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60]
        return self._folder / f"{plain}-{sha256(name.encode()).hexdigest()[:8]}.json"

    def _read(self, path: Path) -> tuple[int, Weights]:
        """Return when a file was written, and its weights; those of the beginning when it cannot be used."""
        try:
            seen, stored = _modified(path), json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return _modified(path), beginning()
        return seen, _parsed(stored) or beginning()

    def _write(self, path: Path, ref: ModelRef, weights: Weights) -> int:
        stored = {
            "layout": _LAYOUT,
            "model": str(ref),
            "reports": weights.reports,
            "tokens": dict(zip(COUNTS, weights.values, strict=True)),
            "covariance": weights.covariance,
        }
        spare = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            ensure(path.parent)
            spare.write_text(json.dumps(stored), encoding="utf-8")
            spare.chmod(0o600)
            spare.replace(path)
        except OSError as error:
            logger.warning("what was learned of %s could not be kept in %s: %s", ref, path, error.strerror)
        return _modified(path)


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _parsed(stored: Any) -> Weights | None:
    try:
        if stored["layout"] != _LAYOUT or list(stored["tokens"]) != list(COUNTS):
            return None
        values = [float(value) for value in stored["tokens"].values()]
        covariance = [[float(number) for number in row] for row in stored["covariance"]]
        return checked(values, covariance, int(stored["reports"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
