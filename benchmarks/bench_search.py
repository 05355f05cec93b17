"""Search over a large store: the time of queries, the size of the index, and that the hits are those of a pass over the texts.

The store is generated: 10,000 sessions with 1,000,000 parts, or 300 sessions with --quick. BENCHMARK_SEARCH_STORE names a folder
that keeps it for the next run (6 GB).
Times need a quiet machine.
"""

import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.comparison import Figure, report
from opencode_tui.engine.search import build
from opencode_tui.engine.search.index import Index, IndexFiles
from opencode_tui.engine.search.query import parse_query
from opencode_tui.engine.search.searcher import COUNTED, Searcher
from opencode_tui.schema.api.search import SearchRequest
from opencode_tui.storage.paths import Paths
from tests.support.search.oracle import Oracle, count_lines, write_lines
from tests.support.search.stored_text import read_store, write_store

IS_QUICK = bool(os.environ.get("BENCHMARK_QUICK"))
SESSIONS = 300 if IS_QUICK else 10_000
WORDS = 1_000 if IS_QUICK else 10_000
RIPGREP_RUNS = 50
ROUNDS = 15


def main() -> int:
    """Measure everything; return 1 when a goal is missed."""
    kept = os.environ.get("BENCHMARK_SEARCH_STORE")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(kept or temporary)
        size = _store(folder)
        paths = Paths(home=folder, data=folder, config=folder / "c", state=folder / "s", cache=folder / "cache")
        paths.lock.mkdir(parents=True, exist_ok=True)
        figures = [*_build(paths, size["characters"]), *_queries(paths), *_hits(paths, folder)]
    return report(figures)


def _store(folder: Path) -> dict[str, int]:
    """Return the sizes of the store, which is written unless it is there."""
    record = folder / "size.json"
    if not record.exists():
        count = characters = 0
        for part in write_store(folder / "storage", SESSIONS):
            count += 1
            characters += len(part.body) + len(part.paths)
        record.write_text(json.dumps({"parts": count, "characters": characters}))
    return json.loads(record.read_text())


def _build(paths: Paths, characters: int) -> list[Figure]:
    """Build the index in a child process."""
    files = IndexFiles(paths.cache, str(paths.storage))
    if files.current() is None:
        begin = time.monotonic()
        child = build.start_build(str(paths.storage), paths.cache, paths.lock / "search")
        child.wait()
        print(f"built in {time.monotonic() - begin:.0f} s at the lowest priority")
    path = files.current()
    assert path is not None
    used = path.stat().st_size
    goal = 1.25 if IS_QUICK else 1.0  # a small store has the same vocabulary
    print(f"{used / 1e6:.0f} MB for {characters / 1e6:.0f} M characters")
    return [Figure("bytes of the index for a character", used / characters, goal=goal, unit="")]


def _queries(paths: Paths) -> list[Figure]:
    path = IndexFiles(paths.cache, str(paths.storage)).current()
    assert path is not None
    index = Index(path)

    def newest(query: str) -> Callable[[], object]:
        return lambda: index.newest(_expression(query), since=0, before=None, limit=COUNTED)

    frequent = [term for term, _ in _by_frequency(path)]
    rare = frequent[-200]
    searcher = Searcher(str(paths.storage), paths.cache, paths.lock / "search")
    searcher.search(SearchRequest(query="warm"), "project1")

    def first_key() -> object:
        """The page has asked an empty query when it opened."""
        return searcher.search(SearchRequest(query=frequent[3][:1], is_typing=True, is_quick=True), "project1")

    figures = [
        _timed("rare word", newest(rare), 10),
        _timed("two words", newest(f"{frequent[40]} {frequent[60]}"), 60),
        _timed("newest hits of a common word", newest(frequent[4]), 20),
        _timed("first key to the first results", first_key, 100),
    ]
    two = f"{frequent[40]} {frequent[60]}"
    for name, work in {
        "opening the page, with a look at the files of all sessions": lambda: _whole(searcher, ""),
        "whole answer for two words": lambda: _whole(searcher, two),
        "three letters of a common word": lambda: _whole(searcher, frequent[40][:3], is_typing=True, is_quick=True),
        "common word by relevance": lambda: _whole(searcher, frequent[4], order="relevance"),
    }.items():
        print(f"{name}: {_timed(name, work, 0).ours:.1f} ms")
    searcher.close()
    index.close()
    return figures


def _whole(searcher: Searcher, query: str, **fields: object) -> object:
    return searcher.search(SearchRequest.model_validate({"query": query, **fields}), "project1")


def _expression(query: str) -> str:
    return parse_query(query, now=datetime.now(UTC)).expression(None)


def _by_frequency(path: Path) -> list[tuple[str, int]]:
    base = sqlite3.connect(path)
    base.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, fts, row)")
    rows = base.execute("SELECT term, doc FROM temp.v WHERE length(term) > 2 ORDER BY doc DESC").fetchall()
    base.close()
    return [(term, count) for term, count in rows if term.isascii() and term.isalpha()]


def _timed(name: str, work: Callable[[], object], goal: float) -> Figure:
    """Return the median of some rounds in ms, after one that is not counted."""
    work()
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) * 1000)
    return Figure(f"{name}, ms", statistics.median(times), goal=goal, unit="")


def _hits(paths: Paths, folder: Path) -> list[Figure]:
    """Compare the hits of random words with a dictionary of the same texts, and of some with ripgrep."""
    path = IndexFiles(paths.cache, str(paths.storage)).current()
    assert path is not None
    oracle = Oracle()
    lines = folder / "lines.txt"
    write_lines(lines, oracle.following(read_store(paths.storage)))
    index = Index(path)
    names = {row.id: row.name for row in index.sessions().values()}

    def found(word: str) -> Counter[str]:
        rows = index.newest(_expression(word), since=0, before=None, limit=10_000_000)
        return Counter(names[row.session] for row in rows if row is not None)

    words = random.Random(5).sample(sorted(oracle.parts), min(WORDS, len(oracle.parts)))
    wrong = [word for word in words if found(word) != oracle.count(word)]
    some = random.Random(6).sample([word for word in words if word.isalpha()], RIPGREP_RUNS)
    other = [word for word in some if count_lines(lines, word) != found(word).total()]
    index.close()
    print(
        f"{len(words):,} words compared with a dictionary, {len(some)} with ripgrep; different: {wrong[:5]} {other[:5]}"
    )
    return [
        Figure("words with other hits than the dictionary", len(wrong), goal=0, unit=""),
        Figure("words with other hits than ripgrep", len(other), goal=0, unit=""),
    ]


if __name__ == "__main__":
    sys.exit(main())
