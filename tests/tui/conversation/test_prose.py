"""Tasks, images, struck texts and changes in responses, also with plain signs."""

from dataclasses import replace

from rich.style import Style

from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.links import href_of
from opencode_tui.tui.conversation.markdown import Markdown
from opencode_tui.tui.conversation.prose import draw_block
from opencode_tui.tui.theme.look import ASCII
from tests.support.terminal.conversation import look

PAGE = RenderContext(60, look())
PLAIN = RenderContext(60, replace(look(), glyphs=ASCII))


def drawn(text: str, page: RenderContext = PAGE) -> list[Line]:
    markdown = Markdown()
    markdown.feed(text)
    markdown.close()
    return [line for block in markdown.blocks for line in draw_block(block, page)]


def rows(text: str, page: RenderContext = PAGE) -> list[str]:
    return [line.strip.text.rstrip() for line in drawn(text, page)]


def style_of(line: Line, text: str) -> Style:
    [style] = [segment.style for segment in line.strip if segment.text.strip() == text and segment.style is not None]
    return style


TASKS = "- [ ] write it\n- [x] read it\n  - [X] nested\n- [link](http://docs.example)\n1. [ ] first\n- [x]"


def test_tasks_have_boxes_instead_of_brackets() -> None:
    assert rows(TASKS) == [
        "   ☐ write it",
        "   ☑ read it",
        "     ☑ nested",
        "   • link (http://docs.example)",
        "   1. ☐ first",
        "   • [x]",
    ]


def test_tasks_have_plain_forms() -> None:
    assert rows(TASKS, PLAIN)[:3] == ["   - [ ] write it", "   - [x] read it", "     - [x] nested"]
    assert rows("1. [ ] first", PLAIN) == ["   1. [ ] first"]


def test_a_task_that_wraps_stays_in_its_column() -> None:
    first, second = rows("- [ ] " + "word " * 14)
    assert (first.index("word"), second.index("word")) == (5, 5)


def test_a_struck_text_has_a_stroke_and_tildes_where_signs_are_plain() -> None:
    (line,) = drawn("Use ~~the **old**~~ new one, not ~this~.")
    assert line.strip.text.rstrip() == "   Use the old new one, not ~this~."
    assert (style_of(line, "the").strike, style_of(line, "old").strike) == (True, True)
    assert style_of(line, "new one, not ~this~.").strike is None
    assert rows("Use ~~the **old**~~ one.", PLAIN) == ["   Use ~~the old~~ one."]


def test_an_image_keeps_its_address() -> None:
    (line,) = drawn("![a plot](out/plot.png)")
    assert line.strip.text.rstrip() == "   [image: a plot] (out/plot.png)"
    assert href_of(style_of(line, "[image: a plot]")) == "out/plot.png"
    assert rows("![](out/plot.png)") == ["   [image: out/plot.png]"]
    (badge,) = rows("[![build](b.svg)](http://ci.example)")
    assert badge == "   [image: build] (b.svg) (http://ci.example)"


CHANGE = "```diff\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n def a():\n-    old\n+    new\n--- no header\n```"


def test_a_fence_with_a_change_has_the_colors_of_changes() -> None:
    palette = PAGE.look.palette
    sources = CHANGE.split("\n")[1:-1]
    pairs = [(line, text) for line, text in zip(drawn(CHANGE), sources, strict=True) if not text.startswith(" ")]
    colors = [style_of(line, text).color for line, text in pairs]
    tokens = ["muted", "muted", "muted", "diff_del", "diff_add", "diff_del"]
    assert colors == [palette.style(token, "surface").color for token in tokens]
    assert len({palette.style(token, "surface").color for token in ("muted", "diff_del", "diff_add")}) == 3


def test_a_closed_diagram_is_boxes_and_a_growing_one_its_source() -> None:
    markdown = Markdown()
    for piece in ("```mermaid\ngraph LR\nA --> B\n", "`", "``", "\nAnd more."):
        markdown.feed(piece)
        text = "\n".join(line.strip.text for block in markdown.blocks for line in draw_block(block, PAGE))
        assert ("│ A │──▶│ B │" in text) is not ("A --> B" in text)
        assert ("A --> B" in text) is (piece != "\nAnd more.")
    assert rows("```mermaid\ngraph LR\nA --> B\n```\n", PLAIN) == ["     graph LR", "     A --> B"]


def test_a_formula_is_unicode_beside_markdown_and_its_source_where_signs_are_plain() -> None:
    text = "**Area**: $x_1^2$ costs $5 and $6"
    assert rows(text) == ["   Area: x₁² costs $5 and $6"]
    assert rows(text, PLAIN) == ["   Area: $x_1^2$ costs $5 and $6"]
