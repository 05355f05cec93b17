from opencode_tui.schema.api.context import PrefixChange, PrefixView
from opencode_tui.schema.session.prefix import PrefixBreak
from opencode_tui.text.prefix import prefix_line, prefix_text

LOST = PrefixBreak(
    message_id="m", time=0, model="p/m", cause="an output was\x1b[2J pruned", place="message 3 (result)", kept=9, lost=8_000,
    tokens=2_000, cost=0.0123,
)  # fmt: skip


def test_a_session_without_a_start_says_nothing() -> None:
    assert prefix_line(PrefixView(), 0) == prefix_text(PrefixView(), 0) == ""


def test_the_line_says_what_will_be_announced_and_what_was_lost() -> None:
    view = PrefixView(since=0, requests=40, breaks=[LOST], lost_tokens=2_000, lost_cost=0.0123)
    assert "· 1 of 40 requests broke it: " in prefix_line(view, 0) and prefix_line(view, 0).endswith(", $0.01")
    pending = PrefixChange(name="instruction:/p/AGENTS.md", text="…")
    assert "1 change will join the next prompt" in prefix_line(view.changed(pending=[pending]), 0)


def test_each_break_has_its_cause_place_and_cost() -> None:
    text = prefix_text(PrefixView(since=0, requests=2, breaks=[LOST, LOST.changed(cost=None)]), 0)
    first, second = text.splitlines()[1:]
    assert "pruned, at message 3 (result): " in first and "($0.01 more than cached)" in first
    assert "\x1b" not in text and "price unknown" in second
