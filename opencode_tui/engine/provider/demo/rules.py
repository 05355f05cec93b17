"""The rules by which one clause of a request becomes a goal: a table of patterns, the first that gives a goal wins."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from opencode_tui.engine.provider.demo import create_intent
from opencode_tui.engine.provider.demo.goals import (
    FindFiles,
    FindText,
    Goal,
    InsertLine,
    ListFolder,
    ReadFile,
    ReplaceText,
    RunCommand,
    RunFile,
    RunTests,
    Unclear,
)
from opencode_tui.engine.provider.demo.phrase import MARK, Phrase, is_path

_IT = r"(?:it|that|this|them|(?:the|that|this) (?:file|script|program|result))"


@dataclass
class Reader:
    """What the rules share while one request is read; `path` is the file that was last named in it."""

    phrase: Phrase
    path: str | None = None


_Rule = Callable[[Reader, "re.Match[str]"], Goal | None]


def first_goals(reader: Reader, clause: str) -> list[Goal]:
    """Return the goal of a clause, or several when it names several files to read; none when no rule fits."""
    paths = reader.phrase.paths(clause)
    if len(paths) > 1 and re.match(r"(?:read|show|open|cat|view|display|summari[sz]e)\b", clause, re.IGNORECASE):
        return [ReadFile(path, outline=clause.lower().startswith("summ")) for path in paths[:4]]
    for pattern, rule in _RULES:
        match = pattern.match(clause)
        goal = rule(reader, match) if match else None
        if goal is not None:
            return [goal]
    return []


def _target(reader: Reader, masked: str | None) -> str | None:
    """Return the file that a piece names; `it`, and nothing at all, is the one named before."""
    paths = reader.phrase.paths(masked or "")
    if paths:
        return paths[-1]
    words = reader.phrase.words(masked or "")
    return reader.path if not words or re.fullmatch(_IT, words, re.IGNORECASE) else words


def _replace(reader: Reader, match: re.Match[str]) -> Goal | None:
    old, new = reader.phrase.words(match["old"]), reader.phrase.words(match["new"])
    is_rename = match["verb"].lower() == "rename"
    names = (reader.phrase.name(match["old"]), reader.phrase.name(match["new"]))
    if match["file"] is None and is_rename and all(map(is_path, names)):
        return RunCommand(create_intent.move_command(*names))
    if not old or old == new:
        return Unclear("tell me what to replace with what")
    return ReplaceText(_target(reader, match["file"]), old, new, whole_words=is_rename)


def _insert(reader: Reader, match: re.Match[str]) -> Goal | None:
    line = reader.phrase.words(match["line"])
    where = match["file"]
    if not line or not (reader.phrase.paths(where) or re.fullmatch(_IT, reader.phrase.words(where), re.IGNORECASE)):
        return None
    at_start = re.search(r"\b(?:top|start|beginning)\b", match["place"] or "", re.IGNORECASE) is not None
    return InsertLine(_target(reader, where), line, at_start=at_start)


def _run_it(reader: Reader, _: re.Match[str]) -> Goal:
    return RunFile(reader.path, exact=True)


def _run(reader: Reader, match: re.Match[str]) -> Goal | None:
    masked = match["command"].strip()
    command = reader.phrase.name(masked)
    if not command:
        return Unclear("tell me which command to run")
    is_file = is_path(command) and not command.startswith(("./", "/")) and create_intent.is_runnable(command)
    return RunFile(command) if is_file else RunCommand(command)


def _run_tests(reader: Reader, _: re.Match[str]) -> Goal:
    return RunTests()


def _where(reader: Reader, match: re.Match[str]) -> Goal | None:
    text, how = reader.phrase.name(match["text"]), (match["how"] or "").lower()
    if not text:
        return None
    if is_path(text) and not how:
        return FindFiles(f"**/{text}")
    return FindText(text, defined=how in {"defined", "declared", "implemented"})


def _find(reader: Reader, match: re.Match[str]) -> Goal | None:
    masked = match["text"]
    where = None
    if scope := re.search(
        rf"\s+(?:in|inside|within|under)\s+(?:the\s+)?(?P<where>{MARK}|\S+(?:\s+\S+){{0,2}})\s*\Z", masked, re.I
    ):
        named = reader.phrase.paths(scope["where"]) or re.findall(
            r"\A(?:folder |directory )?([\w.-]+)(?: folder| directory)?\Z", reader.phrase.words(scope["where"])
        )
        where = named[0] if named and named[0].lower() not in {"here", "code", "files", "project", "repo"} else None
        masked = masked[: scope.start()]
    text = reader.phrase.name(masked)
    if not text:
        return Unclear("tell me which text to find")
    return _files_of(text, quoted=re.fullmatch(MARK, masked.strip()) is not None) or FindText(
        "TODO" if re.fullmatch(r"todos|todo comments?", text, re.IGNORECASE) else text, where
    )


def _files_of(text: str, *, quoted: bool) -> FindFiles | None:
    kinds = {
        "python": "py",
        "javascript": "js",
        "typescript": "ts",
        "markdown": "md",
        "shell": "sh",
        "text": "txt",
        "rust": "rs",
    }
    if kind := re.fullmatch(r"(\w+|\.\w+|\*\.\w+)\s+files?", text, re.IGNORECASE):
        word = kind[1].lower().lstrip("*.")
        return FindFiles(f"**/*.{kinds.get(word, word)}")
    named = re.fullmatch(
        r"(?:files?\s+)?(?:(?:named|called|matching|like|ending (?:in|with))\s+)?(\S+)", text, re.IGNORECASE
    )
    if named is None or (quoted and not re.match(r"files?\s|\*\.\w+\Z", text, re.IGNORECASE)):
        return None
    pattern = named[1]
    if not ("*" in pattern or is_path(pattern) or text.lower().startswith("file")):
        return None
    return FindFiles(pattern if "/" in pattern else f"**/{'*' if pattern.startswith('.') else ''}{pattern}")


def _search_for(reader: Reader, match: re.Match[str]) -> Goal | None:
    return FindText(reader.phrase.words(match["text"]), reader.phrase.name(match["where"]))


def _list(reader: Reader, match: re.Match[str]) -> Goal | None:
    rest = match["rest"] or ""
    if files := re.search(
        r"(?:\A|\s)(?P<kind>\*\.\w+|python|javascript|typescript|markdown|rust|shell)(?:\s+files?)?\b", rest, re.I
    ):
        return _files_of(f"{files['kind']} files", quoted=False)
    folder = re.search(
        r"\b(?:in|under|of|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?(?P<folder>\S+)", rest, re.IGNORECASE
    )
    name = reader.phrase.words(folder["folder"]) if folder else ""
    generic = {"", "here", "this", "project", "current", "folder", "directory", "repo", "repository", "my", "our", "."}
    return ListFolder(None if name.lower() in generic else name.rstrip("/"))


def _read(reader: Reader, match: re.Match[str]) -> Goal | None:
    verb = match["verb"].lower()
    outline = re.match(r"summ|expl|desc|what do|tell", verb) is not None
    subject = match["file"]
    paths = reader.phrase.paths(subject)
    if paths:
        return ReadFile(paths[0], outline=outline)
    words = reader.phrase.words(subject)
    if re.fullmatch(_IT, words, re.IGNORECASE):
        return ReadFile(reader.path, outline=outline)
    if re.search(r"\b(?:project|folder|directory|repo|repository|code ?base)\b", words, re.IGNORECASE):
        return ListFolder()
    if word := re.fullmatch(r"(?:the\s+)?(?:file\s+)?([\w.-]+)(?:\s+file)?", words):
        return ReadFile(word[1], outline=outline) if "file" in words.lower() else None
    return None


def _rule(pattern: str, rule: _Rule) -> tuple[re.Pattern[str], _Rule]:
    return re.compile(rf"{pattern}\s*[.!?]*\s*\Z", re.IGNORECASE | re.DOTALL), rule


def _create(reader: Reader, match: re.Match[str]) -> Goal | None:
    return create_intent.read_creation(reader.phrase, match["what"], overwrite=match["verb"].lower() == "overwrite")


_FILE = r"(?:the\s+)?(?:file\s+)?(?P<file>\S+(?:\s+(?:file|script|program))?)"
_PLACE = r"(?:the\s+)?(?P<place>(?:top|start|beginning|end|bottom)\s+of\s+)?"

_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = (
    _rule(
        r"(?P<verb>replace|change|substitute|swap|rename|turn)\s+"
        r"(?:(?:all|every|each|the (?:text|word|string|function|variable|class)|occurrences? of)\s+)*"
        rf"(?P<old>.+?)\s+(?:with|by|to|into|for|as)\s+(?P<new>.+?)(?:\s+(?:everywhere\s+)?(?:in|inside|within)\s+{_FILE})?",
        _replace,
    ),
    _rule(
        r"(?:add|append|insert|put)\s+(?:(?:a|an|the|this|another|new)\s+)*(?:(?:line|text|comment|sentence|words?)\s+)?"
        rf"(?:(?:saying|that says|with(?: the text)?)\s+|:\s*)?(?P<line>.+?)\s+(?:to|at|in|into|on)\s+{_PLACE}{_FILE}",
        _insert,
    ),
    _rule(
        rf"(?:add|append|insert|put)\s+(?:(?:a|an|the|this|new)\s+)*(?:line|text)?\s*(?:to|at|in|into)\s+{_PLACE}(?:the\s+)?(?:file\s+)?"
        r"(?P<file>[^\s:]+)\s*(?::|saying|that says|with(?: the text)?|the line)\s*(?P<line>.+?)",
        _insert,
    ),
    _rule(
        r"(?:run|execute|start|do|try)\s+(?:all\s+)?(?:(?:the|my|our|its)\s+)?(?:unit\s+)?tests?(?:\s+suite)?(?:\s+again)?"
        r"(?:[\s,]+(?:please|now|for me))*",
        _run_tests,
    ),
    _rule(rf"(?:run|execute|launch|start|try|test)\s+{_IT}(?:\s+(?:with python3?|again|now|once|too))*", _run_it),
    _rule(r"tests?(?:\s+.*)?", _run_tests),
    _rule(r"(?:run|execute|launch)\s+(?:(?:the\s+)?(?:shell\s+)?command\s*:?\s*|\$\s*)?(?P<command>.+?)", _run),
    _rule(r"try\s+(?P<command>\x01\d+\x02)", _run),
    _rule(
        r"where\s+(?:is|are|do(?:es)?|was|do we|can i find)\s+(?:(?:the|all|a)\s+)*"
        r"(?:(?:function|class|variable|method|word|string|text|file)\s+)?(?P<text>.+?)(?:\s+(?P<how>used|called|defined|declared|mentioned|imported|implemented|located))?",
        _where,
    ),
    _rule(
        r"search\s+(?:(?:in|through)\s+)?(?:the\s+)?(?P<where>\S+?)(?:\s+folder)?\s+for\s+(?P<text>.+?)", _search_for
    ),
    _rule(
        r"(?:find(?!\s+out)|search(?:\s+for)?|grep(?:\s+for)?|look\s+for|locate|show\s+me\s+where)\s+"
        r"(?:(?:all|every|any|the|each)\s+)*(?:(?:occurrences?|us(?:es?|ages?)|mentions?|instances?|references?|lines?)\s+(?:of|to|with|containing)\s+)?"
        r"(?:the\s+)?(?:(?:word|text|string)\s+)?(?P<text>.+?)",
        _find,
    ),
    _rule(
        r"(?:list|show|what|which|display|print|ls|find)\b(?P<rest>(?:(?!\.[a-z]\w*\b)[^\n])*?\b(?:files|folders?|director(?:y|ies)|tree|here|project)\b.*?)",
        _list,
    ),
    _rule(r"(?:list|ls)(?P<rest>\s+(?:\*\.\w+|.*\bfiles?\b.*|(?:in\s+)?\S+/?))?", _list),
    _rule(r"(?P<verb>create|make|write|generate|add|save|put|overwrite)\s+(?P<what>.+)", _create),
    _rule(
        r"(?P<verb>read|show|open|display|cat|print|view|look\s+at|summari[sz]e|explain|describe|what(?:'s|\s+is)\s+in|what\s+does|tell)\s+"
        r"(?:me\s+)?(?:about\s+|what(?:'s|\s+is)\s+in\s+)?(?:(?:the\s+)?contents?\s+of\s+)?(?P<file>.+?)(?:\s+(?:do|contain|say))?",
        _read,
    ),
)
