r"""Formulas of TeX as Unicode: `$x^2 \le \frac{a}{b}$` is `x² ≤ a/b`. What is not understood whole stays as it was written."""

import re
from collections.abc import Iterator, Sequence

_CODE = r"(?<!`)(`+)(?!`).{0,400}?(?<!`)\1(?!`)"
_FORMULA = re.compile(
    _CODE + r"|(?<![\\\w$])\$\$(?!\$)(?P<block>[^$]{1,400})\$\$(?!\$)"
    r"|(?<![\\\w$])\$(?P<dollars>[^\s$](?:[^$`]{0,200}[^\s$\\])?)\$(?![\w$])"
    r"|\\\((?P<round>.{1,200}?)\\\)|\\\[(?P<square>.{1,400}?)\\\]"
)
_EVIDENCE = re.compile(r"[\\^_=<>+*/-]|^[A-Za-z]$")
"""What a text between dollars has, if it is a formula and no price or variable."""

_PRICES = re.compile(r"[\d.,\s–+-]+")

_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|[{}^_]|\s+|.", re.DOTALL)
_MARKDOWN = re.compile(r"[\\`*_\[\]<>&|~]")


def _pairs(names: str, signs: str) -> dict[str, str]:
    return dict(zip(names.split(), signs, strict=True))


_NAMES = {
    **_pairs(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega "
        "varepsilon vartheta varphi varrho varsigma",
        "αβγδεζηθικλμνξπρστυφχψωεϑφϱς",
    ),
    **_pairs("Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega", "ΓΔΘΛΞΠΣΥΦΨΩ"),
    **_pairs(
        "le leq ge geq ne neq approx equiv sim simeq propto ll gg times cdot div pm mp ast star circ bullet oplus otimes cap "
        "cup subset supset subseteq supseteq in notin ni emptyset varnothing forall exists nexists neg lnot land lor wedge vee",
        "≤≤≥≥≠≠≈≡∼≃∝≪≫×·÷±∓∗⋆∘•⊕⊗∩∪⊂⊃⊆⊇∈∉∋∅∅∀∃∄¬¬∧∨∧∨",
    ),
    **_pairs(
        "to rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow implies iff mapsto uparrow downarrow sum "
        "prod int iint oint infty partial nabla ldots dots cdots vdots prime ell hbar Re Im aleph angle perp parallel mid vdash "
        "models top bot langle rangle lceil rceil lfloor rfloor setminus degree dagger",
        "→→←↔⇒⇐⇔⇒⇔↦↑↓∑∏∫∬∮∞∂∇……⋯⋮′ℓℏℜℑℵ∠⊥∥∣⊢⊨⊤⊥⟨⟩⌈⌉⌊⌋∖°†",
    ),
    **dict.fromkeys(("quad", "qquad", ",", ";", ":", " ", "enspace", "thinspace"), " "),
    **dict.fromkeys(("!", "left", "right", "big", "Big", "bigl", "bigr", "displaystyle", "limits", "textstyle"), ""),
    **{sign: sign for sign in "{}$%#&_"},
    "|": "‖",
    "lbrace": "{",
    "rbrace": "}",
    "colon": ":",
    "backslash": "\\",
}
_FUNCTIONS = re.compile(
    "a(?:rc(?:sin|cos|tan)|rg)|(?:sin|cos|tan)h?|cot|sec|csc|log|l[ng]|exp|lim|max|min|sup|inf|det|dim|ker|gcd|deg|Pr|mod"
)
"""Names that are written as they are, with a blank behind them."""

_BINARY = frozenset("≤≥≠≈≡∼≃∝≪≫×·÷±∓⊕⊗∩∪⊂⊃⊆⊇∈∉∧∨→←↔⇒⇐⇔↦∣⊢⊨=<>")
"""Signs that have a blank on both sides."""

_WRAPPERS = re.compile("text(?:bf|it|rm)?|math(?:rm|bf|it|sf|tt|cal)|operatorname|boldsymbol")
_DOUBLE = dict(zip("CHNPQRZE", "ℂℍℕℙℚℝℤ𝔼", strict=True))
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303", "dot": "\u0307", "vec": "\u20d7"}
_FRACTIONS = {
    "1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾", "1/5": "⅕", "1/6": "⅙", "1/8": "⅛", "3/8": "⅜",
}  # fmt: skip
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_ABOVE = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ′∗*",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ′**",
)
_BELOW = str.maketrans("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
_DEEP = 20


class _NotUnderstoodError(Exception):
    """The formula has something that one line of Unicode cannot say."""


def with_formulas(text: str) -> str:
    """Return markdown with its formulas as Unicode; code, prices and what is not understood are as they were."""
    return _FORMULA.sub(_formula, text) if "$" in text or "\\(" in text or "\\[" in text else text


def _formula(found: re.Match[str]) -> str:
    source = next((found[name] for name in ("block", "dollars", "round", "square") if found[name] is not None), None)
    if source is None or (found["dollars"] is not None and (_PRICES.fullmatch(source) or not _EVIDENCE.search(source))):
        return found[0]
    shown = formula_text(source)
    return found[0] if shown is None else _MARKDOWN.sub(r"\\\g<0>", shown)


def formula_text(source: str) -> str | None:
    """Return a formula in one line; None where that cannot be done."""
    tokens = iter(_TOKEN.findall(source))
    try:
        return re.sub(r" {2,}", " ", _sequence(tokens, "", 0)).strip() or None
    except (_NotUnderstoodError, StopIteration):
        return None


def _sequence(tokens: Iterator[str], end: str, depth: int) -> str:
    """Return what comes up to a token that ends it, or to the end of the formula where that is empty."""
    if depth > _DEEP:
        raise _NotUnderstoodError
    shown = ""
    for token in tokens:
        if token == end:
            return shown
        if token == "}":
            raise _NotUnderstoodError
        if token in "^_":
            shown = shown.rstrip() + _script(_group(tokens, depth), token)
        else:
            shown += _one(token, tokens, depth)
    if end:
        raise _NotUnderstoodError
    return shown


def _group(tokens: Iterator[str], depth: int) -> str:
    """Return the next token, or the group that begins with it."""
    token = next(tokens)
    while token.isspace():
        token = next(tokens)
    if token in "^_}":
        raise _NotUnderstoodError
    return _one(token, tokens, depth).strip()


def _one(token: str, tokens: Iterator[str], depth: int) -> str:
    if token == "{":
        return _sequence(tokens, "}", depth + 1)
    if token.isspace():
        return " "
    if not token.startswith("\\"):
        if token == "&":
            raise _NotUnderstoodError
        return f" {token} " if token in _BINARY else "−" if token == "-" else token
    name = token[1:]
    if name in _NAMES:
        sign = _NAMES[name]
        return f" {sign} " if sign in _BINARY and sign else sign
    if _FUNCTIONS.fullmatch(name):
        return f"{name} "
    if name in ("frac", "dfrac", "tfrac"):
        above, below = _group(tokens, depth), _group(tokens, depth)
        return _FRACTIONS.get(f"{above}/{below}") or f"{_whole(above)}/{_whole(below)}"
    if name == "sqrt":
        return _root(tokens, depth)
    if _WRAPPERS.fullmatch(name):
        return _group(tokens, depth)
    if name == "mathbb":
        letter = _group(tokens, depth)
        return _DOUBLE.get(letter, letter)
    if name in _ACCENTS:
        inside = _group(tokens, depth)
        if len(inside) != 1:
            raise _NotUnderstoodError
        return inside + _ACCENTS[name]
    raise _NotUnderstoodError


def _root(tokens: Iterator[str], depth: int) -> str:
    inside = _group(tokens, depth)
    degree = ""
    if inside == "[":
        degree = _sequence(tokens, "]", depth + 1).strip()
        inside = _group(tokens, depth)
    sign = _ROOTS.get(degree)
    if sign is None:
        if not _is_mapped(degree, _ABOVE):
            raise _NotUnderstoodError
        sign = degree.translate(_ABOVE) + "√"
    return sign + _whole(inside)


def _whole(text: str) -> str:
    """Return a part of a fraction or a root, in brackets where it has several."""
    return text if re.fullmatch(r"\w+[²³ⁿ]?|\(.*\)|.", text) else f"({text})"


def _script(text: str, sign: str) -> str:
    table: Sequence[str] | dict[int, int] = _ABOVE if sign == "^" else _BELOW
    plain = text.replace(" ", "")
    if sign == "^" and plain == "∘":
        return "°"
    if plain and _is_mapped(plain, table):
        return plain.translate(table)
    return sign + (plain if len(plain) == 1 else f"({plain})")


def _is_mapped(text: str, table: object) -> bool:
    return isinstance(table, dict) and all(ord(letter) in table for letter in text)
