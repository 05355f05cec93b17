"""Parsing of shell text with tree-sitter, and corrections where its grammar differs from bash.

`parse` never raises for any text. A tree with errors is repaired where bash would accept the text and the grammar does not.
The parser's recovery from an error can take more than linear time and memory: it is interrupted after `PARSE_SECONDS`, and texts
in which one step of it would take long (deep pipelines) are not parsed.
"""

import re
import time
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.permission.shell.words import names

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser


COMMANDS = names("command declaration_command unset_command")
REDIRECTS = names("file_redirect herestring_redirect heredoc_redirect")
SUBSTITUTIONS = names("command_substitution process_substitution")
EXPANSIONS = names("expansion arithmetic_expansion")
BLOCKS = names(
    "program variable_assignments compound_statement do_group negated_command else_clause elif_clause case_item ERROR"
)
"""Nodes whose children are followed in order."""

IGNORED = names("comment heredoc_body heredoc_end heredoc_start file_descriptor")
"""Nodes without effect where a statement is expected; the body of a here-document is analyzed with its redirection."""

VALUES = names(
    "word number string raw_string ansi_c_string translated_string concatenation simple_expansion expansion variable_name"
    " command_substitution process_substitution arithmetic_expansion brace_expression extglob_pattern regex test_operator"
    " special_variable_name array subscript binary_expression unary_expression postfix_expression ternary_expression"
    " parenthesized_expression"
)
"""Words and expressions; any other node is unknown to the scan."""


SIZE_LIMIT = 1_000_000
"""Maximum size in bytes of a text that is parsed; a longer command is unknown."""

REPAIR_LIMIT = 16_000
"""Maximum size in bytes of a text with an error that is parsed to its end, and again after a repair."""

PIPE_LIMIT = 2_000
"""Maximum number of `|` in one text: recovery from an error takes quadratic time and memory in a pipeline's length."""

PARSE_SECONDS = 0.03
"""Maximum processor time for one text."""

SECONDS_PER_BYTE = 1e-6
"""Additional processor time for each byte of a text; a text without an error takes a fifth of it."""

CHUNK = 256
"""Number of bytes that an interruptible parser is given at once, at the end of the text one by one.

The binding never frees what its callback returns, tens of megabytes for a hostile text: it is given one buffer, and bytes of
length 1, which Python never frees.
"""

SHORT = 1_000
"""Maximum size in bytes of a text that is parsed without a limit."""

HERE_LIMIT = 500
"""Maximum number of here-documents in one text; parsing takes more than linear time in their number."""

_START = rb"(?:^|[;&|(\n{!]|\b(?:then|do|else|elif|if|while|until|time)\b)[ \t]*"
_BRACE_COMMAND = re.compile(rb"(" + _START + rb")\{([^\s{}'\"`$();&|<>]*,[^\s{}'\"`$();&|<>]*)\}(?=[\s;&|()<>]|$)")
_CONTINUATION = re.compile(rb"(?<!\\)(?:\\\\)*(\\\n)")
_HERE = re.compile(rb"(?<!<)<<(?!<)")
_HERE_WORD = re.compile(rb"((?<!<)<<-?[ \t]*(?!\d+\))(?:'[^'\n]*'|\"[^\"\n]*\"|[\w.\\-]+))(?=[&|;()<>])")
_LINE_BACKSLASH = re.compile(rb"(\n[ \t]*)(?=\\[^\n])")
_LONE_DOLLAR = re.compile(rb"(?<!\$)\$(?=[ \t\n]+\$)")
_INNER_HASH = re.compile(rb"[^\s;&|()<>]#")
_WIDE = re.compile("[\u00ff-\U0010ffff]")
_SPELLED = re.compile("\u00ff([0-9a-f]{6})")
_NOTHING = "\u00ff110000"
"""The spelling of no character: for the grammar it is the start of a word."""

_QUOTE = re.compile(rb"['\"\\]")
_READ_WRITE = re.compile(rb"<>")
_COPROCESS_NAME = re.compile(rb"\bcoproc[ \t]+[A-Za-z_]\w*(?=[ \t]*[({])")
_PREFIX = re.compile(
    rb"("
    + _START
    + rb")(!|time(?:[ \t]+-p)?)(?=[ \t]*(?:[({]|\b(?:for|while|until|if|case|select|function)\b|\w+(?:=|\(\))))"
)


class Script(Struct, frozen=True):
    """A parsed text: its tree, the original text, whether bash's grammar is certain to accept it.

    `read_write` are the positions of `<>` in the original text, as byte offsets of its `>`.
    """

    root: "Node"
    source: bytes
    certain: bool
    read_write: frozenset[int] = frozenset()


@cache
def _language() -> "Language":
    # tree-sitter is loaded for the first scan, not at start-up
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


class _Spent(Exception):
    """A text was not parsed within the limits."""


def _tree(source: bytes) -> "Node":
    from tree_sitter import Parser  # as above; one parser per text, because scans run in several threads

    if len(source) > SHORT:
        _try(Parser(_language()), source)
    return Parser(_language()).parse(source).root_node


def _try(parser: "Parser", source: bytes) -> None:
    """Raise `_Spent` if the text takes too long.

    Only a parser that reads by a callback can be interrupted. Its tree is not used: the text of a node would be read by the
    callback again, slowly, and from a buffer not at all: that ends the process.
    """
    end = time.thread_time() + PARSE_SECONDS + SECONDS_PER_BYTE * len(source)
    chunk = bytearray(CHUNK)
    whole = len(source) - CHUNK

    def read(place: int, _: object) -> bytes | bytearray:
        if place > whole:
            return source[place : place + 1]
        chunk[:] = source[place : place + CHUNK]
        return chunk

    def is_spent(_: int, has_error: bool) -> bool:
        return (has_error and len(source) > REPAIR_LIMIT) or time.thread_time() > end

    try:
        parser.parse(read, progress_callback=is_spent)
    except ValueError as error:  # the callback ended it
        raise _Spent from error


def to_source(text: str) -> bytes:
    """Return text for the parser: characters above U+00FE are escaped.

    The grammar's scanner classifies characters with a C table of 256 entries and reads beyond it for larger ones, which
    ends the process now and then. The spelling consists of letters and digits, so words stay words.
    """
    return _WIDE.sub(lambda found: _spell(found.group()), text).encode("utf-8", "replace")


def _spell(character: str) -> str:
    return f"\u00ff{ord(character):06x}"


def from_source(source: bytes) -> str:
    """Return the original text of a piece of the source."""
    text = source.decode("utf-8", "replace").replace(_NOTHING, "")
    return _SPELLED.sub(lambda found: chr(int(found.group(1), 16)), text) if "\u00ff" in text else text


def parse(text: str) -> Script | None:
    """Return the parsed text, None when it cannot be parsed in time."""
    source = to_source(text)
    if len(source) > SIZE_LIMIT or source.count(b"<<") > HERE_LIMIT or source.count(b"|") > PIPE_LIMIT:
        return None
    try:
        return _parse(source)
    except _Spent:
        return None


def _parse(source: bytes) -> Script:
    source = _HERE_WORD.sub(rb"\1 ", _without_continuations(source))
    # The grammar takes `\` after a line end for a blank, and `$ $(` for `$$` and `(`.
    source = _LINE_BACKSLASH.sub(rb"\1" + _NOTHING.encode(), source)
    source = _LONE_DOLLAR.sub(_spell("$").encode(), source)
    root = _tree(source)
    if not root.has_error:
        return Script(root, source, certain=not _is_misread(root, source))
    if len(source) > REPAIR_LIMIT:
        return Script(root, source, certain=False)
    shown = _replace_unsupported(source)
    read_write = frozenset(found.start() + 1 for found in _READ_WRITE.finditer(shown))
    again = _tree(_READ_WRITE.sub(b" >", shown))
    if again.has_error:
        return Script(root, source, certain=False)
    return Script(again, shown, certain=not _is_misread(again, shown), read_write=read_write)


def _is_misread(root: "Node", source: bytes) -> bool:
    """Return whether the grammar parses the text differently from bash without an error."""
    return _has_false_comment(root, source) or _has_other_end(root, source)


def _has_other_end(root: "Node", source: bytes) -> bool:
    """Return whether a here-document ends for the grammar where it does not end for bash."""
    for found in _HERE.finditer(source):
        node = root.descendant_for_byte_range(found.start(), found.start())
        redirect = node.parent if node is not None and node.type in ("<<", "<<-") else None
        if redirect is None or redirect.type != "heredoc_redirect":
            continue
        texts = {child.type: child.text or b"" for child in redirect.children}
        if _QUOTE.sub(b"", texts.get("heredoc_start", b"")) != texts.get("heredoc_end", b"").strip():
            return True
    return False


def _has_false_comment(root: "Node", source: bytes) -> bool:
    """Return whether the grammar parses as a comment what bash parses as the rest of a word."""
    places = (found.end() - 1 for found in _INNER_HASH.finditer(source))
    nodes = ((place, root.descendant_for_byte_range(place, place)) for place in places)
    return any(node is not None and node.type == "comment" and node.start_byte == place for place, node in nodes)


def _without_continuations(source: bytes) -> bytes:
    """Return the text without the line continuations that bash removes before it splits words; the grammar ends a word there."""
    if not _CONTINUATION.search(source):
        return source
    root = _tree(source)
    pieces: list[bytes] = []
    place = 0
    for found in _CONTINUATION.finditer(source):
        if not _keeps_line_ends(root.descendant_for_byte_range(found.start(1), found.start(1))):
            pieces.append(source[place : found.start(1)])
            place = found.end(1)
    return b"".join((*pieces, source[place:]))


def _keeps_line_ends(node: "Node | None") -> bool:
    """Return whether a backslash before a line end is literal: in comments, single quotes, here-documents with a quoted word."""
    in_body = False
    while node is not None:
        in_body = in_body or node.type == "heredoc_body"
        if node.type in ("comment", "raw_string", "ansi_c_string"):
            return True
        if node.type == "heredoc_redirect" and in_body:
            return any(child.type == "heredoc_start" and _QUOTE.search(child.text or b"") for child in node.children)
        if node.type in ("command", "redirected_statement", "program"):
            return False
        node = node.parent
    return False


def _replace_unsupported(source: bytes) -> bytes:
    """Return the text with syntax that the grammar lacks replaced by equivalents of the same length."""
    repaired = _BRACE_COMMAND.sub(_without_braces, source)
    repaired = _PREFIX.sub(lambda found: found.group(1) + b" " * len(found.group(2)), repaired)
    return _COPROCESS_NAME.sub(lambda found: b" " * len(found.group()), repaired)


def _without_braces(found: re.Match[bytes]) -> bytes:
    start, words = found.groups()
    return start + b" " + words.replace(b",", b" ") + b" "


def embedded_programs(text: str, *, with_processes: bool = False) -> list[str]:
    """Return the command substitutions in text that is not parsed as shell (here-documents, array subscripts, patterns).

    `with_processes`: process substitutions too, which only run in the pattern or the alternative of an expansion.
    """
    starts = ("$(", "<(", ">(") if with_processes else "$("
    programs: list[str] = []
    place = 0 if "(" in text or "`" in text else len(text)
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 2
        elif text.startswith(starts, place):
            end = _closing(text, place + 2)
            is_arithmetic = text.startswith("$((", place) and text[end - 1 : end] == ")"
            if not is_arithmetic:
                programs.append(text[place + 2 : end])
            place = place + 3 if is_arithmetic else end + 1
        elif character == "`":
            end = text.find("`", place + 1)
            end = len(text) if end < 0 else end
            programs.append(text[place + 1 : end])
            place = end + 1
        else:
            place += 1
    return programs


def _closing(text: str, place: int) -> int:
    """Return the position where the parenthesis opened before `place` closes, or the end of the text."""
    depth = 1
    quoted = ""
    while place < len(text):
        character = text[place]
        if character == "\\" and quoted != "'":
            place += 1
        elif quoted:
            quoted = "" if character == quoted else quoted
        elif character in "'\"":
            quoted = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return place
        place += 1
    return len(text)


_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def decode_ansi(text: str) -> str:
    r"""Return the text between the quotes of `$'…'` with its escapes decoded. Source: bash manual, ANSI-C quoting."""

    def decode(found: re.Match[str]) -> str:
        hexadecimal, short, long, octal, control, named = found.groups()
        if code := hexadecimal or short or long:
            return chr(min(int(code, 16), 0x10FFFF))
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if control:
            return chr(ord(control) & 0x1F)
        return _ANSI_NAMED.get(named, named)

    return _ANSI.sub(decode, text)
