"""The keys of vim; the results of the table are those of vim itself. `|` is the cursor, `<esc>` and `<c-r>` are keys."""

import re

from opencode_tui.extras.vim.vim import Vim
from opencode_tui.tui.prompt.editor import MARKER
from tests.support.rows import each

CASES = (
    ("|one two-three  four\nfive six", "w", "one |two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "2w", "one two|-three  four\nfive six"),
    ("|one two-three  four\nfive six", "W", "one |two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "e", "on|e two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "2e", "one tw|o-three  four\nfive six"),
    ("|one two-three  four\nfive six", "E", "on|e two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "$", "one two-three  fou|r\nfive six"),
    ("|one two-three  four\nfive six", "3l", "one| two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "j", "one two-three  four\n|five six"),
    ("|one two-three  four\nfive six", "G", "one two-three  four\n|five six"),
    ("|one two-three  four\nfive six", "fw", "one t|wo-three  four\nfive six"),
    ("|one two-three  four\nfive six", "2fe", "one two-thr|ee  four\nfive six"),
    ("|one two-three  four\nfive six", "to", "one t|wo-three  four\nfive six"),
    ("|one two-three  four\nfive six", "fo;", "one two-three  f|our\nfive six"),
    ("|one two-three  four\nfive six", "dw", "|two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "d2w", "|-three  four\nfive six"),
    ("|one two-three  four\nfive six", "2dd", "|"),
    ("|one two-three  four\nfive six", "de", "| two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "dW", "|two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "d$", "|\nfive six"),
    ("|one two-three  four\nfive six", "D", "|\nfive six"),
    ("|one two-three  four\nfive six", "dt-", "|-three  four\nfive six"),
    ("|one two-three  four\nfive six", "dj", "|"),
    ("|one two-three  four\nfive six", "dG", "|"),
    ("|one two-three  four\nfive six", "x", "|ne two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "3x", "| two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "rZ", "|Zne two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "3rZ", "ZZ|Z two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "~", "O|ne two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "4~", "ONE |two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "J", "one two-three  four| five six"),
    ("|one two-three  four\nfive six", "yyp", "one two-three  four\n|one two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "ddp", "five six\n|one two-three  four"),
    ("|one two-three  four\nfive six", "ywP", "one| one two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "cwNEW<esc>", "NE|W two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "C!<esc>", "|!\nfive six"),
    ("|one two-three  four\nfive six", "ccNEW<esc>", "NE|W\nfive six"),
    ("|one two-three  four\nfive six", "s-<esc>", "|-ne two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "iX<esc>", "|Xone two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "3iX<esc>", "XX|Xone two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "aX<esc>", "o|Xne two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "A!<esc>", "one two-three  four|!\nfive six"),
    ("|one two-three  four\nfive six", "oX<esc>", "one two-three  four\n|X\nfive six"),
    ("|one two-three  four\nfive six", "2oX<esc>", "one two-three  four\nX\n|X\nfive six"),
    ("|one two-three  four\nfive six", "OX<esc>", "|X\none two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "x..", "| two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "dw.", "|-three  four\nfive six"),
    ("|one two-three  four\nfive six", "cwX<esc>w.", "X |X-three  four\nfive six"),
    ("|one two-three  four\nfive six", "xxuu", "|one two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "dwu<c-r>", "|two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "daw", "|two-three  four\nfive six"),
    ("|one two-three  four\nfive six", "vey$p", "one two-three  fouron|e\nfive six"),
    ("|one two-three  four\nfive six", "Vd", "|five six"),
    ("|one two-three  four\nfive six", "vjd", "|ive six"),
    ("one two-thre|e  four\nfive six", "b", "one two-|three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "2b", "one two|-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "B", "one |two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "0", "|one two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "^", "|one two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "h", "one two-thr|ee  four\nfive six"),
    ("one two-thre|e  four\nfive six", "k", "one two-thre|e  four\nfive six"),
    ("one two-thre|e  four\nfive six", "gg", "|one two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "Fo", "one tw|o-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "To", "one two|-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "FoTe;", "one| two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "fe,", "one two-thr|ee  four\nfive six"),
    ("one two-thre|e  four\nfive six", "db", "one two-|e  four\nfive six"),
    ("one two-thre|e  four\nfive six", "dB", "one |e  four\nfive six"),
    ("one two-thre|e  four\nfive six", "d0", "|e  four\nfive six"),
    ("one two-thre|e  four\nfive six", "X", "one two-thr|e  four\nfive six"),
    ("one two-thre|e  four\nfive six", "dgg", "|five six"),
    ("one two-thre|e  four\nfive six", "diw", "one two-|  four\nfive six"),
    ("one two-thre|e  four\nfive six", "daw", "one two-|four\nfive six"),
    ("one two-thre|e  four\nfive six", "ciwX<esc>", "one two-|X  four\nfive six"),
    ("one two-thre|e  four\nfive six", "yiwP", "one two-thre|ethree  four\nfive six"),
    ("one two-thre|e  four\nfive six", "IX<esc>", "|Xone two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "ce-<esc>", "one two-thre|-\nfive six"),
    ("one two-thre|e  four\nfive six", "cbX<esc>", "one two-|Xe  four\nfive six"),
    ("one two-thre|e  four\nfive six", "xp", "one two-thre |e four\nfive six"),
    ("one two-thre|e  four\nfive six", "S!<esc>", "|!\nfive six"),
    ("one two-thre|e  four\nfive six", "vbd", "one two-|  four\nfive six"),
    ("one two-thre|e  four\nfive six", "Y$p", "one two-three  four\n|one two-three  four\nfive six"),
    ("one two-thre|e  four\nfive six", "j$k", "one two-three  fou|r\nfive six"),
    ('say "hi| there" to f(a, (b)) and `x`', 'di"', 'say "|" to f(a, (b)) and `x`'),
    ('say "hi| there" to f(a, (b)) and `x`', 'da"', "say |to f(a, (b)) and `x`"),
    ('say "hi| there" to f(a, (b)) and `x`', 'ci"X<esc>', 'say "|X" to f(a, (b)) and `x`'),
    ('say "hi| there" to f(a, (b)) and `x`', 'vi"d', 'say "|" to f(a, (b)) and `x`'),
    ('say "hi| there" to f(a, (b)) and `x`', 'yi"P', 'say "hi ther|ehi there" to f(a, (b)) and `x`'),
    ('say "hi there" to f(a, (b)|) and `x`', "di(", 'say "hi there" to f(|) and `x`'),
    ('say "hi there" to f(a, (b)|) and `x`', "da(", 'say "hi there" to f| and `x`'),
    ('say "hi there" to f(a, (b)|) and `x`', "d2i(", 'say "hi there" to f(a, (b)|) and `x`'),
    ('say "hi there" to f(a, (b)|) and `x`', "%", 'say "hi there" to f|(a, (b)) and `x`'),
    ('say "hi there" to f(a, (b)|) and `x`', "d%", 'say "hi there" to f| and `x`'),
    ('say "hi there" to f(a, (b)) and `|x`', "di`", 'say "hi there" to f(a, (b)) and `|`'),
    ('say "hi there" to f(a, (b)) and `|x`', "b%", 'say "hi there" to f(a, (b)) and |`x`'),
    ("f(a, {\n  |c\n}, d)", "di{", "f(a, {\n|}, d)"),
    ("f(a, {\n  |c\n}, d)", "da{", "f(a, |, d)"),
    ("f(a, {\n  |c\n}, d)", "di(", "f(|)"),
    ("f(a, {\n  |c\n}, d)", "yi{P", "f(a, {\n  |c\n  c\n}, d)"),
    ("f(a, {\n  |c\n}, d)", "ci{X<esc>", "f(a, {\n|X\n}, d)"),
    ("f|(a, {\n  c\n}, d)", "%", "f(a, {\n  c\n}, d|)"),
    ("f|(a, {\n  c\n}, d)", "d%", "|f"),
    ("[a, [|b]]", "di[", "[a, [|]]"),
    ("[a, [|b]]", "da[", "[a, |]"),
    ("|a\nb\n\nc\nd", "}", "a\nb\n|\nc\nd"),
    ("|a\nb\n\nc\nd", "d}", "|\nc\nd"),
    ("|a\nb\n\nc\nd", "2}", "a\nb\n\nc\n|d"),
    ("|a\nb\n\nc\nd", "yjP", "|a\nb\na\nb\n\nc\nd"),
    ("|a\nb\n\nc\nd", "yjGp", "a\nb\n\nc\nd\n|a\nb"),
    ("|a\nb\n\nc\nd", "VGd", "|"),
    ("|a\nb\n\nc\nd", "VjcX<esc>", "|X\n\nc\nd"),
    ("a\nb\n\nc\n|d", "{", "a\nb\n|\nc\nd"),
    ("a\nb\n\nc\n|d", "d{", "a\nb\n|d"),
    ("a\nb\n\nc\n|d", "dk", "a\nb\n|"),
    ("a\nb\n\nc\n|d", "ykP", "a\nb\n\n|c\nd\nc\nd"),
    ("|", "ihey<esc>", "he|y"),
    ("|a\n  b", "J", "a| b"),
    ("a\n|\nb", "dw", "a\n|b"),
)


def started(text: str) -> Vim:
    vim = Vim(MARKER)
    vim.cursor = text.index("|")
    vim.text, vim.mode = text.replace("|", "", 1), "normal"
    return vim


def press(vim: Vim, keys: str) -> None:
    for key in re.findall(r"<esc>|<c-r>|.", keys):
        assert isinstance(key, str)
        name = {"<esc>": "escape", "<c-r>": "ctrl+r"}.get(key, key)
        if not vim.press(name) and vim.mode == "insert":
            vim.text = vim.text[: vim.cursor] + key + vim.text[vim.cursor :]
            vim.cursor += 1


@each(("before", "keys", "after"), CASES, ids=[f"{keys} in {text!r}" for text, keys, _ in CASES])
def test_keys_do_what_they_do_in_vim(before: str, keys: str, after: str) -> None:
    vim = started(before)
    press(vim, keys)
    assert f"{vim.text[: vim.cursor]}|{vim.text[vim.cursor :]}" == after
    assert vim.mode == "normal"


def test_an_incomplete_command_waits_and_escape_drops_it() -> None:
    vim = started("|one two three")
    press(vim, "2d")
    assert vim.is_waiting and vim.text == "one two three"
    assert vim.press("escape") and not vim.is_waiting
    assert not vim.press("escape"), "a second escape has its meaning outside of the prompt"
    press(vim, "w")
    assert vim.text == "one two three" and vim.cursor == 4


def test_keys_without_a_meaning_change_nothing() -> None:
    vim = started("|one two")
    press(vim, "zdxQgx&")
    assert (vim.text, vim.cursor, vim.is_waiting) == ("one two", 0, False)
    assert not vim.press("enter") and not vim.press("ctrl+x"), "keys with names keep their actions"


def test_the_selection_has_the_character_under_the_cursor_and_whole_lines_in_line_mode() -> None:
    vim = started("one\nt|wo\nthree")
    press(vim, "vl")
    assert (vim.mode, vim.selected) == ("visual", (5, 7))
    press(vim, "V")
    assert (vim.mode, vim.selected) == ("visual line", (4, 7))
    press(vim, "k<esc>")
    assert (vim.mode, vim.cursor) == ("normal", 2)


def test_the_marker_of_an_attachment_is_deleted_completely() -> None:
    vim = started("see [Pasted 12 li|nes] here")
    press(vim, "x")
    assert vim.text == "see  here"
    press(vim, "u")
    assert vim.text == "see [Pasted 12 lines] here"


def test_a_new_prompt_starts_in_insert_mode_and_without_the_changes_of_the_last_one() -> None:
    vim = started("|sent")
    press(vim, "x")
    vim.restart()
    assert vim.mode == "insert"
    vim.text = ""
    press(vim, "<esc>u")
    assert vim.text == ""
    press(vim, "ihello<esc>u")
    assert vim.text == ""
    press(vim, "<c-r>")
    assert vim.text == "hello"


def test_a_huge_count_is_limited() -> None:
    vim = started("|x")
    press(vim, "999999999pyl999999999p")
    assert len(vim.text) == 10_001
