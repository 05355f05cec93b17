"""The query language of the search, as an expression of FTS5.

    retry backoff            parts that have both words        "wait for it"    a phrase
    back*                    words that begin with it          -draft           parts without it
    tool:bash                calls of a tool                   file:src/app.py  calls and changes of a file
    role:user                your prompts                      project:.        this project, or one by its folder's name
    since:2w                 of the last two weeks: 30min, 12h, 3d, 2w, 6m, 1y, or a date such as 2026-01-31

Every query has a meaning; a filter with a wrong value is ignored and reported. All texts reach FTS5 quoted.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from opencode_tui.engine.search import words

LONGEST_QUERY = 2_000
MOST_TERMS = 40
SHORTEST_PREFIX = 3
"""Characters from which a word that is being typed also finds the words that begin with it."""

SHORTEST_CORRECTED = 4
"""Characters from which a word is corrected when nothing was found."""

_TOKEN = re.compile(
    r"""(?P<minus>-?)(?:(?P<filter>tool|file|role|project|since):)?(?:"(?P<phrase>[^"]*)"?(?P<star>\*?)|(?P<word>[^\s"]+))""",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,5})(min|h|d|w|m|y)", re.IGNORECASE)
_UNITS = {
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "m": timedelta(days=30),
    "y": timedelta(days=365),
}
_ROLES = {"user": "user", "me": "user", "assistant": "assistant", "agent": "assistant", "model": "assistant"}


class Term(msgspec.Struct, frozen=True):
    """A word or a phrase; a prefix also finds longer words."""

    text: str
    is_prefix: bool = False
    is_path: bool = False
    """Whether only paths are searched."""

    def expression(self) -> str:
        """Return the term for FTS5."""
        phrase = words.queried(self.text).replace('"', " ")
        is_prefix = self.is_prefix or words.is_single(self.text)
        return f'{"path : " if self.is_path else ""}"{phrase}"{" *" if is_prefix else ""}'


class Query(msgspec.Struct, frozen=True):
    """A parsed query. `since` is in ms since 1970, `project` what follows `project:`; `ignored` are filters without a meaning."""

    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    """The kind and the name of the index's own words that a part must have; `-` before the kind: must not have."""
    project: str | None = None
    since: int = 0
    ignored: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether the query asks for nothing."""
        return not (self.terms or self.without or self.tags or self.project or self.since)

    @property
    def is_plain(self) -> bool:
        """Return whether the query has words and no condition that a title cannot meet."""
        return bool(self.terms) and not self.tags and not any(term.is_path for term in self.terms)

    def expression(self, projects: Iterable[str] | None) -> str:
        """Return the query for FTS5, limited to parts of these projects unless None."""
        needed = [term.expression() for term in self.terms]
        needed += [f'"{words.tag(kind, name)}"' for kind, name in self.tags if not kind.startswith("-")]
        if projects is not None:
            any_project = " OR ".join(f'"{words.tag("p", name)}"' for name in projects)
            needed.append(f"({any_project})" if any_project else f'"{words.tag("p", "")}"')
        if not needed:
            needed.append(f'("{words.tag("r", "user")}" OR "{words.tag("r", "assistant")}")')
        excluded = [term.expression() for term in self.without]
        excluded += [f'"{words.tag(kind[1:], name)}"' for kind, name in self.tags if kind.startswith("-")]
        return f"({' AND '.join(needed)})" + "".join(f" NOT {one}" for one in excluded)


def parse_query(text: str, *, now: datetime, is_typing: bool = False) -> Query:
    """Return what a query asks for; never raises."""
    text = words.clean(text[:LONGEST_QUERY].replace("\0", " "))
    reader = _Reader(now)
    tokens = list(_TOKEN.finditer(text))[:MOST_TERMS]
    for token in tokens:
        is_last = is_typing and token is tokens[-1] and token.end() == len(text)
        reader.read(token, is_last=is_last)
    return reader.query()


class _Reader:
    def __init__(self, now: datetime) -> None:
        self._now = now
        self._terms: list[Term] = []
        self._without: list[Term] = []
        self._tags: list[tuple[str, str]] = []
        self._project: str | None = None
        self._since = 0
        self._ignored: list[str] = []

    def read(self, token: re.Match[str], *, is_last: bool) -> None:
        """Add one token of the query."""
        phrase, word, name = token["phrase"], token["word"], (token["filter"] or "").lower()
        is_excluded = token["minus"] == "-"
        value = phrase if word is None else word.rstrip("*")
        is_prefix = bool(token["star"]) if word is None else word.endswith("*")
        filters: dict[str, Callable[[str, bool], bool]] = {
            "tool": self._tool,
            "file": self._file,
            "role": self._role,
            "project": self._at_project,
            "since": self._at_since,
        }
        if name:
            if not filters[name](value, is_excluded):
                self._ignored.append(token.group())
            return
        if not words.has_words(value):
            return
        if is_last and word is not None and not is_excluded:
            is_prefix = is_prefix or len(value) >= SHORTEST_PREFIX
        (self._without if is_excluded else self._terms).append(Term(value, is_prefix))

    def query(self) -> Query:
        """Return the query."""
        return Query(
            tuple(self._terms),
            tuple(self._without),
            tuple(self._tags),
            self._project,
            self._since,
            tuple(self._ignored),
        )

    def _tool(self, value: str, is_excluded: bool) -> bool:
        if value:
            self._tags.append(("-t" if is_excluded else "t", value))
        return bool(value)

    def _file(self, value: str, is_excluded: bool) -> bool:
        if not words.has_words(value):
            return False
        (self._without if is_excluded else self._terms).append(Term(value, is_path=True))
        return True

    def _role(self, value: str, is_excluded: bool) -> bool:
        role = _ROLES.get(value.lower())
        if role is not None:
            self._tags.append(("-r" if is_excluded else "r", role))
        return role is not None

    def _at_project(self, value: str, is_excluded: bool) -> bool:
        if not value or is_excluded:
            return False
        self._project = value
        return True

    def _at_since(self, value: str, is_excluded: bool) -> bool:
        moment = None if is_excluded else _moment(value, self._now)
        if moment is None:
            return False
        self._since = max(self._since, int(moment.timestamp() * 1000))
        return True


def _moment(value: str, now: datetime) -> datetime | None:
    span = _SPAN.fullmatch(value)
    try:
        if span is not None:
            moment = now - int(span[1]) * _UNITS[span[2].lower()]
        elif value.lower() in ("today", "yesterday"):
            moment = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(
                days=value.lower() == "yesterday"
            )
        else:
            moment = datetime.fromisoformat(value)
            moment = moment.astimezone() if moment.tzinfo is None else moment
        moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.year >= 1970 else None


def similar_query(text: str, query: Query, vocabulary: Sequence[str]) -> str | None:
    """Return the query with words that the index does not have replaced by the most similar ones; None without such a word."""
    from rapidfuzz import process  # only for a query without a result
    from rapidfuzz.distance import DamerauLevenshtein

    known = frozenset(vocabulary)
    changed = text
    for term in query.terms:
        word = words.fold(term.text)
        if term.is_path or not word.isalpha() or len(word) < SHORTEST_CORRECTED or word in known:
            continue
        most = 1 if len(word) < 8 else 2
        candidates = [one for one in vocabulary if abs(len(one) - len(word)) <= most]
        best = process.extractOne(word, candidates, scorer=DamerauLevenshtein.distance, score_cutoff=most)
        if best is None:
            return None
        changed = changed.replace(term.text, best[0])
    return changed if changed != text else None
