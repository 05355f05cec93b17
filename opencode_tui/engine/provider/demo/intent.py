"""Parses a plain English request to goals. Pure.

Quoted pieces are replaced by marks first, so that patterns match only the words around them. A request is split into clauses that
start with a verb, and the first matching rule of a clause gives its goal. Rules that only read are tolerant; rules that change
something must understand every word: a clause that only starts like one of them is `unclear`.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.provider.demo.programs import (
    INTERPRETERS,
    first_content,
    is_program,
    suggest_name,
    write_program,
)

Action = Literal[
    "read", "outline", "find", "glob", "list", "create", "overwrite", "replace", "rename", "append", "prepend",
    "command", "run", "test", "plan", "follow", "unclear",
]  # fmt: skip


class Goal(Struct, frozen=True):
    """One action. A `path` of None is the last named file, `text` the subject of the action (a reason if unclear).

    `new` is the replacement of `text`; `items` are a plan's; with `is_exact` the path is not searched for.
    """

    action: Action
    path: str | None = None
    text: str = ""
    new: str = ""
    items: tuple[str, ...] = ()
    is_exact: bool = False


MARK = "\x01\\d+\x02"
_QUOTED = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)\n?```|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"|“(?P<curly>[^”\n]*)”|(?<!\w)\'(?P<single>[^\'\n]+)\'(?!\w)'
    r"|(?<=:)[ \t]*\n(?P<below>(?!\s*```)(?!\s*(?:[-*]|\d+[.)])\s).+)\Z",
    re.DOTALL,
)
_FILE_NAME = re.compile(
    r"[^\s/]\.[A-Za-z][A-Za-z0-9]{0,9}\Z|(?:\A|/)\.[A-Za-z][\w.-]*\Z|(?i:makefile|dockerfile|license|readme)\Z"
)
_COURTESY_AFTER = re.compile(r"(?:[\s,]+(?:please|for me|thanks|thank you))*\s*(?:(?<=[\w)\x02])[.!?]+)?\s*\Z")


class Phrase:
    """A text whose quoted pieces are replaced by marks, `masked`."""

    def __init__(self, text: str) -> None:
        self._quoted: list[tuple[str, str]] = []
        self.masked = _QUOTED.sub(self._set_aside, text.replace("\x01", "").replace("\x02", ""))

    def plain(self, masked: str) -> str:
        """Return a piece with its quoted text, without quotation marks."""
        return re.sub(MARK, lambda mark: self._quoted[int(mark[0][1:-1])][0], masked).strip()

    def words(self, masked: str) -> str:
        """Return a piece without quotation marks if all of it is quoted, else unchanged without courtesy at its end."""
        bare = masked.strip()
        if re.fullmatch(MARK, bare):
            return self.plain(bare)
        return re.sub(MARK, lambda mark: self._quoted[int(mark[0][1:-1])][1], _COURTESY_AFTER.sub("", bare)).strip()

    def paths(self, masked: str) -> list[str]:
        """Return the names of files and folders in a piece, each once, without the `@` and the lines of a reference."""
        names = [_path_of(self.plain(word).rstrip(".")) for word in re.findall(rf"{MARK}|[^\s,;:()?!]+", masked)]
        return list(dict.fromkeys(name for name in names if is_path(name)))

    def name(self, masked: str) -> str:
        """Return a piece as `words` does, and a reference to a file as its name."""
        words = self.words(masked)
        return _path_of(words) if is_path(_path_of(words)) else words

    def _set_aside(self, match: re.Match[str]) -> str:
        self._quoted.append((next(piece for piece in match.groups() if piece is not None), match[0]))
        return f"{' ' if match['below'] is not None else ''}\x01{len(self._quoted) - 1}\x02"


def _path_of(word: str) -> str:
    return (re.sub(r"#L?\d+(?:-L?\d+)?\Z", "", word[1:]) if word.startswith("@") else word).removeprefix("./")


def is_path(text: str) -> bool:
    """Return whether a word looks like the name of a file or folder."""
    return bool(text) and not re.search(r"\s|://", text) and ("/" in text.strip("/") or bool(_FILE_NAME.search(text)))


_VERBS = (
    r"read|show|open|display|cat|print|view|look (?:at|for)|summari[sz]e|explain|describe|where|what|which|find|search|grep|locate"
    r"|list|ls|create|make|write|generate|add|append|insert|put|overwrite|edit|change|replace|rename|run|execute|launch|try|tests?"
)
_LINKS = r"(?:(?:and|then|after that|afterwards|finally|next|also|please|now|you)[\s,]+)*"
_SEPARATOR = re.compile(
    rf"(?:[,.;!?]+\s+|\s*\n\s*|\s+(?=(?:and|then)\b))(?:[-*]\s+|\d+[.)]\s+)?{_LINKS}(?=(?:{_VERBS})\b)"
    rf"|:\s+{_LINKS}(?=(?:replace|change|rename|add|append|insert)\b)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"(?:(?:hi|hello|hey)(?: there)?\b|please\b|ok(?:ay)?\b|(?:now|then|first|next|finally|just|also|and)\b|go ahead and\b"
    r"|(?:can|could|would|will) you\b|i(?:'d like| would like| want| need) (?:you )?to\b|let(?:'s| us)\b)[\s,!.:]*",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"(?:(?:make|write|create|give|show)\s+)?(?:me\s+)?(?:an?\s+|the\s+)?(?:to-?dos?(?: list)?|plan)(?![\w./-])"
    r"\s*(?:(?:for|to|of|how to|with)\b)?[\s:]*(?P<topic>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_FOLLOW = re.compile(
    r"(?:yes\b[\s,!]*)?(?:do (?:it|that|so)|go ahead|(?:follow|execute) the plan)[\s.!]*\Z", re.IGNORECASE
)
_PLAN_LENGTH = 8
_LONGEST_REQUEST = 2_000
"""Maximum number of characters without quoted pieces; patterns would take too long for a longer text."""


def read_goals(text: str) -> list[Goal]:
    """Return the goals of the text in order; empty when the demo model understands none."""
    phrase = Phrase(text)
    masked = _strip_courtesy(phrase.masked)
    if len(masked) > _LONGEST_REQUEST:
        return []
    if _FOLLOW.match(masked):
        return [Goal("follow")]
    if plan := _PLAN.match(masked):
        return [Goal("plan", items=_plan_items(phrase, plan["topic"]))]
    clauses, goals = _Clauses(phrase), list[Goal]()
    for clause in _split(masked):
        goals += clauses.read(clause)
    is_known = any(goal.action != "unclear" or not goal.text.startswith(_NOT_UNDERSTOOD) for goal in goals)
    return goals if is_known else []


def _split(masked: str) -> list[str]:
    return [clause for piece in _SEPARATOR.split(masked) if (clause := _strip_courtesy(piece))]


def _strip_courtesy(text: str) -> str:
    text = text.strip()
    while match := _COURTESY.match(text):
        text = text[match.end() :]
    return re.sub(r"\A(?:[-*]|\d+[.)])\s+", "", text)


def _plan_items(phrase: Phrase, topic: str) -> tuple[str, ...]:
    clauses = [phrase.words(clause) for clause in _split(topic)]
    if clauses and all(map(read_goals, clauses)):
        return tuple(clause[0].upper() + clause[1:] for clause in clauses[:_PLAN_LENGTH])
    named = [
        words
        for piece in re.split(r"\s*(?:[\n;,]|\band\b)\s*(?:[-*]\s+|\d+[.)]\s+)?", topic)
        if (words := phrase.words(piece))
    ]
    if len(named) > 1:
        return tuple(named[:_PLAN_LENGTH])
    return (
        "List the files",
        f"Make the change: {named[0] if named else 'the work'}",
        "Run the tests",
        "Look at the result together",
    )


_NOT_UNDERSTOOD, _EXAMPLE = "I do not understand", "for example:"
_LOOKING = re.compile(
    r"(?P<show>read|show|open|display|cat|print|view|look at|what(?:'s| is) in)\b|summ\w+|expl\w+|desc\w+|what does|tell me about",
    re.I,
)
_IT = r"(?:it|that|this|them|(?:the|that|this) (?:file|script|program|result))"
_VAGUE = re.compile(r"(?:an?|the|some|all)\s|(?:it|them|that|this)\b", re.IGNORECASE)
_SPOT = r"(?:the\s+)?(?P<spot>(?:top|start|beginning|end|bottom)\s+of\s+)?(?:the\s+)?(?:file\s+)?"
_GENERIC = (
    "",
    *[
        ".",
        "here",
        "this",
        "project",
        "current",
        "folder",
        "folders",
        "directory",
        "repo",
        "repository",
        "my",
        "our",
        "code",
        "files",
        "tree",
    ],
)
_ENDINGS = dict(
    python="py",
    javascript="js",
    node="js",
    typescript="ts",
    markdown="md",
    shell="sh",
    bash="sh",
    text="txt",
    rust="rs",
)
_ADJECTIVES = (
    rf"(?:(?:me|an?|the|new|empty|simple|small|short|file|script|program|called|named|{'|'.join(_ENDINGS)})\s+)*"
)


class _Clauses:
    """Parses the clauses of one request in order and stores the last named file."""

    def __init__(self, phrase: Phrase) -> None:
        self._phrase = phrase
        self._path: str | None = None

    def read(self, clause: str) -> list[Goal]:
        """Return the goals of a clause; none for words without a verb at the start."""
        goals = self._read_files(clause) or self._first_goal(clause)
        named = [goal.path for goal in goals if goal.path] or self._phrase.paths(clause)
        self._path = named[-1] if named else self._path
        is_unknown = not goals and re.match(rf"(?!edit|open)(?:{_VERBS})\b", clause, re.IGNORECASE)
        return [self._foreign(clause)] if is_unknown else goals

    def _first_goal(self, clause: str) -> list[Goal]:
        verb = clause.split(maxsplit=1)[0].rstrip(".!?").lower()
        for verbs, pattern, rule in _RULES:
            if verb not in verbs.split():
                continue
            match = re.match(rf"(?P<verb>{verb})\b\s*{pattern}\s*[.!?]*\s*\Z", clause, re.IGNORECASE | re.DOTALL)
            goal = rule(self, match) if match else None
            if goal is not None:
                return [goal]
        return []

    def _foreign(self, clause: str) -> Goal:
        return _unclear(f"{_NOT_UNDERSTOOD} “{self._phrase.words(clause)}”")

    def _read_files(self, clause: str) -> list[Goal]:
        verb = _LOOKING.match(clause)
        if verb is None:
            return []
        action: Action = "read" if verb["show"] else "outline"
        if re.fullmatch(rf"{_IT}(?: do| contain)?", self._phrase.words(clause[verb.end() :]), re.IGNORECASE):
            return [Goal(action, self._path)]
        return [Goal(action, path) for path in self._phrase.paths(clause)[:4]]

    def _file(self, masked: str | None) -> str | None:
        """Return the file that a piece names; the last named one for `it` or an empty piece."""
        words, paths = self._phrase.words(masked or ""), self._phrase.paths(masked or "")
        if paths:
            return paths[0]
        return self._path if not words or re.fullmatch(_IT, words, re.IGNORECASE) else words

    # The rules in the order of the table `_RULES`: after None the next rule is tried.

    def replace(self, match: re.Match[str]) -> Goal | None:
        old, new = self._phrase.words(match["old"]), self._phrase.words(match["new"])
        names = self._phrase.name(match["old"]), self._phrase.name(match["new"])
        if match["verb"].lower() == "rename" and match["file"] is None and all(map(is_path, names)):
            return Goal("command", text=f"mv -n -- {shlex.quote(names[0])} {shlex.quote(names[1])}")
        is_vague = any(map(_VAGUE.match, (match["old"], match["new"])))
        is_path_named = match["file"] is None and self._phrase.paths(match["old"])
        if not old or old == new or is_vague or is_path_named:
            return _unclear(f'quote the old and the new text, {_EXAMPLE} replace "red" with "green" in notes.txt')
        action: Action = "rename" if match["verb"].lower() == "rename" else "replace"
        return Goal(action, self._file(match["file"]), old, "" if match["new"] == "nothing" else new)

    def add_line(self, match: re.Match[str]) -> Goal | None:
        where, line = match["file"], self._phrase.words(match["line"])
        if not line or not (self._phrase.paths(where) or re.fullmatch(_IT, self._phrase.words(where), re.IGNORECASE)):
            return None
        path = self._file(where)
        is_text = path is None or PurePosixPath(path).suffix in (".txt", ".md")
        if not (_is_quoted(match["line"]) or match["noun"] or (is_text and not match["article"])):
            return _unclear(f'quote the line to add, {_EXAMPLE} add the line "…" to {path or "notes.txt"}')
        return Goal("prepend" if re.match(r"top|start|begin", match["spot"] or "", re.I) else "append", path, line)

    def run_tests(self, _match: re.Match[str]) -> Goal:
        return Goal("test")

    def run(self, match: re.Match[str]) -> Goal | None:
        masked = re.sub(r"[\s,]+(?:please|again|now|for me)\Z", "", match["command"].strip())
        if re.fullmatch(rf"{_IT}(?:\s+with python3?|\s+once)?", self._phrase.words(masked), re.IGNORECASE):
            return Goal("run", self._path, is_exact=True)
        command = self._phrase.name(masked)
        is_sentence = not _is_quoted(masked) and (_VAGUE.match(masked) or re.search(r"\s(?:and|then)\s", masked))
        if is_sentence or (match["verb"].lower() == "try" and not _is_quoted(masked)):
            return self._foreign(match[0])
        is_file = is_path(command) and match["command"][0] not in "./" and PurePosixPath(command).suffix in INTERPRETERS
        return Goal("run", command) if is_file else Goal("command", text=command)

    def find(self, match: re.Match[str]) -> Goal | None:
        masked, text = match["text"], self._phrase.name(match["text"])
        if re.match(r"(?:out|why|how)\b", masked) or not text:
            return None
        pattern = _file_pattern(text, is_quoted=_is_quoted(masked))
        if pattern and not match.groupdict().get("used"):
            return Goal("glob", text=pattern)
        where = self._phrase.name(match.groupdict().get("where") or "").removesuffix(" folder")
        folder = self._path if re.fullmatch(_IT, where) else None if where.lower() in _GENERIC else where
        return Goal("find", folder, re.sub(r"\A(?i:todos|todo comments?)\Z", "TODO", text))

    def list_files(self, match: re.Match[str]) -> Goal | None:
        rest = self._phrase.words(match["rest"] or "")
        if kind := re.search(rf"(?:\A|\s)(\*\.\w+|(?:{'|'.join(_ENDINGS)})\s+files?)\b", rest, re.IGNORECASE):
            return Goal("glob", text=_file_pattern(kind[1], is_quoted=False) or "**/*")
        folder = re.search(
            r"(?:\b(?:in|under|of|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?|\A)(?P<name>\S+)\Z", rest
        )
        name = folder["name"].rstrip("/") if folder else ""
        return Goal("list", None if name.lower() in _GENERIC else name)

    def write_into(self, match: re.Match[str]) -> Goal | None:
        """Parse “write "hello" to out.txt”."""
        paths, masked = self._phrase.paths(match["file"]), match["text"]
        is_quoted, words = _is_quoted(masked), self._phrase.words(masked)
        if not paths or not (
            is_quoted or _is_code(words) if is_program(paths[0]) else is_quoted or not _VAGUE.match(masked)
        ):
            return None
        return Goal("create", paths[0], _as_text(words))

    def create_folder(self, match: re.Match[str]) -> Goal:
        return Goal("command", text=f"mkdir -p -- {shlex.quote(self._phrase.words(match['name']))}")

    def create(self, match: re.Match[str]) -> Goal | None:
        paths, rest = self._phrase.paths(match["file"]), match["rest"].strip()
        wants_file = re.search(r"\b(?:file|script|program)\b", match[0], re.IGNORECASE)
        path = paths[0] if paths else _name_program(match[0]) if wants_file else None
        if path is None:
            return _unclear("the name of the file is missing") if wants_file else None
        is_empty = re.search(r"\bempty\b", match["head"], re.IGNORECASE)
        content = "" if is_empty else self._content(path, rest if paths else f"{match['file']} {rest}")
        if content is None:
            return _unclear(f"I cannot write {path}: {_BEYOND}")
        return Goal("overwrite" if match["verb"].lower() == "overwrite" else "create", path, content)

    def _content(self, path: str, rest: str) -> str | None:
        """Return the content that the words after a file's name describe, None when they are not understood."""
        rest = re.sub(r"\s*\bin it\Z", "", rest)
        if not rest:
            return first_content(path)
        given = _CONTENT.match(rest)
        words = self._phrase.words(given["text"]) if given else ""
        if not is_program(path):
            return _as_text(words) if given else None
        is_code = given is not None and (_is_quoted(given["text"]) or _is_code(words))
        if is_code and not re.match(r"(?:that\s+|which\s+)?say", rest, re.IGNORECASE):
            return _as_text(words)
        ends_quoted = re.search(rf"{MARK}[\s.!]*(?:(?:\w+\s+times|twice)[\s.!]*)?\Z", rest) is not None
        if self._phrase.paths(rest) and not ends_quoted:
            return None
        return write_program(path, self._phrase.plain(rest.rstrip(".!?")), is_quoted=ends_quoted)


_BEYOND = (
    "I am a script and can only write texts that you give me and programs that print something"
    " (a text, numbers, a date, fizzbuzz, fibonacci, primes, a factorial)"
)
_CONTENT = re.compile(
    r"(?:(?:with|containing|(?:that|which)\s+(?:contains|reads|says)|saying)(?:\s+(?:only|just|the|as|this))*"
    r"(?:\s+(?:contents?|text|lines?|words?))*(?=\W)\s*:?|:)\s*(?P<text>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)


def _unclear(reason: str) -> Goal:
    return Goal("unclear", text=reason)


def _is_quoted(masked: str) -> bool:
    return re.fullmatch(rf"\s*{MARK}\s*", masked) is not None


def _is_code(text: str) -> bool:
    return re.match(r"[\w.]+\(.*\)\Z|[\w.]+\s*=|(?:import|from|def|const|let)\s|#!", text) is not None


def _as_text(content: str) -> str:
    return content if content.endswith("\n") else content + "\n"


def _name_program(words: str) -> str | None:
    name = suggest_name(words)
    language = re.search(rf"\b({'|'.join(_ENDINGS)})\b", words, re.IGNORECASE)
    return str(PurePosixPath(name).with_suffix("." + _ENDINGS[language[1].lower()])) if name and language else name


def _file_pattern(text: str, *, is_quoted: bool) -> str | None:
    """Return the glob pattern of a search for files, None for a search for text."""
    if kind := re.fullmatch(r"(?:\*?\.)?(\w+)\s+files?", text, re.IGNORECASE):
        return f"**/*.{_ENDINGS.get(kind[1].lower(), kind[1].lower())}"
    named = re.fullmatch(
        r"(?P<lead>files?\s+(?:(?:named|called|matching|like|ending (?:in|with))\s+)?)?(?P<name>\S+)",
        text,
        re.IGNORECASE,
    )
    if named is None or not (named["lead"] or "*." in text or (is_path(text) and not is_quoted)):
        return None
    return (
        named["name"] if "/" in named["name"] else f"**/{'*' if named['name'].startswith('.') else ''}{named['name']}"
    )


_SUBJECT = (
    r"(?:(?:the|all|an?)\s+)*(?:(?:function|class|variable|method|word|text|file)\s+)?(?P<text>.+?)"
    r"(?:\s+(?:function|class|is|are))*(?:\s+(?P<used>used|called|defined|declared|mentioned|imported|implemented))?"
)
_SOUGHT = (
    r"(?:(?:all|every|any|the|each)\s+)*"
    r"(?:(?:occurrences?|us(?:es?|ages?)|mentions?|references?|lines?)\s+(?:of|to|with|containing)\s+)?"
    r"(?:the\s+)?(?:(?:word|text|string)\s+)?(?P<text>.+?)"
    r"(?:\s+(?:in|inside|within|under)\s+(?:the\s+)?(?P<where>\S+(?:\s+folder)?))?"
)
_NAMED = r"(?:(?:an?|the|new|file|called|named)\s+)*"

_RULES: tuple[tuple[str, str, Callable[[_Clauses, re.Match[str]], Goal | None]], ...] = (
    (
        "replace change turn rename",
        r"(?:(?:all|every|each|the (?:text|word|string|function|variable|class)|occurrences? of)\s+)*"
        r"(?P<old>.+?)\s+(?:with|by|to|into)\s+(?:the (?:text|word)\s+)?(?P<new>.+?)"
        r"(?:\s+(?:everywhere\s+)?(?:in|inside|within)\s+(?:the\s+)?(?:file\s+)?(?P<file>\S+))?",
        _Clauses.replace,
    ),
    (
        "add append insert put",
        r"(?P<article>(?:(?:an?|the|this|another|new)\s+)*)(?P<noun>(?:line|text|comment|sentence|words?)\s+)?"
        rf"(?:(?:saying|that says|with)\s+|:\s*)?(?P<line>.+?)\s+(?:to|at|in|into)\s+{_SPOT}(?P<file>\S+(?: file)?)",
        _Clauses.add_line,
    ),
    (
        "add append insert put",
        rf"(?P<article>(?:(?:an?|the|new)\s+)*)(?:line\s+|text\s+)?(?:to|at|in)\s+{_SPOT}(?P<file>[^\s:]+)"
        r"\s*(?P<noun>:|saying|that says|with|the line)\s*(?P<line>.+?)",
        _Clauses.add_line,
    ),
    (
        "run execute start do try",
        r"(?:all\s+)?(?:(?:the|my|our|its)\s+)?(?:unit\s+)?tests?(?:\s+suite)?(?:[\s,]+(?:again|please|now|for me))*",
        _Clauses.run_tests,
    ),
    ("test tests", r"(?:[\s,]+(?:please|now|for me))*", _Clauses.run_tests),
    (
        "run execute launch try test",
        r"(?:(?:the\s+)?(?:shell\s+)?command\s*:?\s*|\$\s*)?(?P<command>.+?)(?:,?\s+and\s+(?:tell|give) me\s.*)?",
        _Clauses.run,
    ),
    ("where", rf"(?:is|are|do(?:es)?|was|do we)\s+{_SUBJECT}", _Clauses.find),
    ("find show", rf"(?:me\s+)?where\s+{_SUBJECT}", _Clauses.find),
    ("search", r"(?:(?:in|through)\s+)?(?:the\s+)?(?P<where>\S+?)(?:\s+folder)?\s+for\s+(?P<text>.+?)", _Clauses.find),
    ("find search grep look locate", rf"(?:for\s+)?{_SOUGHT}", _Clauses.find),
    ("what which", rf"files\s+(?:contain|mention|use)\s+{_SOUGHT}", _Clauses.find),
    ("list ls", r"(?P<rest>.*?)", _Clauses.list_files),
    (
        "show what which display explain describe summarize summarise",
        r"(?P<rest>[^\n]*?\b(?:files|folders?|director(?:y|ies)|project|here)\b.*?)",
        _Clauses.list_files,
    ),
    ("create make", r"(?:(?:an?|the|new)\s+)*(?:folder|directory)\s+(?:(?:called|named)\s+)?(?P<name>\S+)", _Clauses.create_folder),
    ("write save put", rf"(?P<text>.+?)\s+(?:to|into|in)\s+{_NAMED}(?P<file>\S+)", _Clauses.write_into),
    ("create make write generate add overwrite", rf"(?P<head>{_ADJECTIVES})(?P<file>{MARK}|[^\s:,]+)(?P<rest>.*)", _Clauses.create),
)  # fmt: skip
"""Verbs, the pattern of the words after the verb, and the rule; the first rule that returns a goal wins.

A pattern is compiled for the first clause with one of its verbs, not when the program starts.
"""
