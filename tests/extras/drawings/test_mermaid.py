"""Small diagrams become boxes; what could be misread, is not known or does not fit stays the source."""

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.extras.drawings.mermaid import diagram_lines
from opencode_tui.text.cells import width
from tests.support.rows import each

CHOICE = """\
graph TD
    %% what a request goes through
    A[Start] --> B{Valid?}
    B -->|yes| C[Parse]
    B -->|no| D[Reject]
    classDef red fill:#f00
"""

CHOICE_DRAWN = """\
      ┌───────┐
      │ Start │
      └───────┘
          │
          ▼
     ┌────────┐
     │ Valid? │
     └────────┘
          │
    ┌─────┴──────┐
    │ yes        │ no
    ▼            ▼
┌───────┐   ┌────────┐
│ Parse │   │ Reject │
└───────┘   └────────┘"""

SEQUENCE = """\
sequenceDiagram
    participant U as User
    U->>S: GET /rows
    S-->>U: 200
    S->>S: log
"""


def drawn(source: str, room: int = 88) -> str | None:
    lines = diagram_lines(source.split("\n"), room)
    return None if lines is None else "\n".join(lines)


def test_a_choice_is_boxes_with_labels_at_their_lines() -> None:
    assert drawn(CHOICE) == CHOICE_DRAWN


def test_a_row_of_boxes_goes_to_the_right() -> None:
    assert drawn("flowchart LR\nA[Web] --> B[(DB)]") == "┌─────┐   ┌────┐\n│ Web │──▶│ DB │\n└─────┘   └────┘"


def test_messages_go_between_lifelines() -> None:
    shown = drawn(SEQUENCE)
    assert shown is not None and "GET /rows" in shown
    lines = shown.split("\n")
    assert lines[1] == "│ User │" + lines[1][8:] and lines[1].endswith("│ S │")
    assert [line for line in lines if "▶" in line or "◀" in line] == [lines[4], lines[6], lines[8]]


@each(
    ("source", "room"),
    [
        (CHOICE, 12),
        ("graph TD\nA --> B\nB --> A", 88),
        ("graph TD\nA --> A", 88),
        ("graph TD\nA --> C\nB --> D\nA --> D\nB --> C", 88),
        ("graph TD\nsubgraph x\nA --> B\nend", 88),
        ("graph TD\nA & B --> C", 88),
        ("graph TD\nA[" + "long " * 20 + "] --> B", 88),
        ('pie\n"a": 1', 88),
        ("sequenceDiagram\nloop always\nA->>B: x\nend", 88),
        ("graph TD\n" + "\n".join(f"n{number} --> n{number + 1}" for number in range(40)), 88),
        ("", 88),
    ],
)
def test_the_rest_stays_its_source(source: str, room: int) -> None:
    assert drawn(source, room) is None


_LINKS = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9)


@given(_LINKS, st.sampled_from(["TD", "LR"]))
def test_each_box_is_whole_and_each_link_has_an_end(links: set[tuple[int, int]], way: str) -> None:
    forward = sorted((min(link), max(link)) for link in links if link[0] != link[1])
    lines = diagram_lines(
        [f"graph {way}", *(f"n{one}[Node {one}] --> n{other}[Node {other}]" for one, other in forward)], 200
    )
    if lines is None:
        return
    text = "\n".join(lines)
    assert len(lines) > 1 and forward
    assert all(text.count(f"│ Node {number} │") == 1 for link in forward for number in link)
    ends = {other for _, other in forward}
    assert text.count("▼" if way == "TD" else "▶") == len(ends)
    assert all(width(line) <= 200 for line in lines)


@given(st.text(alphabet="AB[](){}-->|:;\n graphTDsequenceDiagram", max_size=80))
def test_no_text_raises(text: str) -> None:
    diagram_lines(["graph TD", *text.split("\n")], 88)
    diagram_lines(["sequenceDiagram", *text.split("\n")], 88)
