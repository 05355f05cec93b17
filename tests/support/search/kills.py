"""Kills the child process that builds the index at a random moment, and says what is wrong with the index then."""

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field

from opencode_tui.engine.search import build
from opencode_tui.engine.search.index import IndexFiles
from opencode_tui.engine.search.searcher import Searcher
from opencode_tui.schema.api.search import SearchRequest
from opencode_tui.storage.paths import Paths
from tests.support.search.oracle import Oracle
from tests.support.search.stored_text import write_store
from tests.support.world.waiting import PATIENCE_S

WORDS = 12
"""Words that are compared after each kill."""


@dataclass
class KilledBuild:
    """A generated store whose index is built and killed again and again; sometimes it is built from nothing."""

    paths: Paths
    sessions: int
    oracle: Oracle = field(default_factory=Oracle)
    seconds: float = 0.0
    """How long a build from nothing lasts."""

    def __post_init__(self) -> None:
        self.paths.lock.mkdir(parents=True, exist_ok=True)
        for part in write_store(self.paths.storage, self.sessions):
            self.oracle.add(part)
        time.sleep(0.15)  # else the files are young
        begin = time.monotonic()
        self._start().wait()
        self.seconds = time.monotonic() - begin

    def kill(self, chance: random.Random) -> list[str]:
        """Build, kill, and return the words with wrong hits: first those of too many, then, when it is complete, of others."""
        if chance.random() < 0.7:
            shutil.rmtree(self.paths.cache / "index", ignore_errors=True)
        child = self._start()
        time.sleep(chance.uniform(0, self.seconds * 1.1))
        child.kill()
        child.wait()
        searcher = Searcher(str(self.paths.storage), self.paths.cache, self.paths.lock / "search")
        words = chance.sample(sorted(self.oracle.parts), WORDS)
        try:
            wrong = [f"{word}: too many" for word in words if self._found(searcher, word) - self.oracle.count(word)]
            end = time.monotonic() + PATIENCE_S + 4 * self.seconds
            while not (last := searcher.search(SearchRequest(query="x"), "p")).is_complete and time.monotonic() < end:
                time.sleep(0.05)
            if not last.is_complete or last.problem:
                wrong.append(f"not complete: {last.indexed} of {last.sessions}, {last.problem}")
            wrong += [f"{word}: others" for word in words if self._found(searcher, word) != self.oracle.count(word)]
        finally:
            searcher.close()
        assert IndexFiles(self.paths.cache, str(self.paths.storage)).current() is not None
        return wrong

    def _start(self):
        return build.start_build(str(self.paths.storage), self.paths.cache, self.paths.lock / "search")

    @staticmethod
    def _found(searcher: Searcher, word: str) -> Counter[str]:
        result = searcher.search(SearchRequest(query=f'"{word}"', limit=500), "p")
        return Counter({group.session_id: group.count for group in result.groups if group.count})
