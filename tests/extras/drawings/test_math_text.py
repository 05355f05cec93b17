"""Formulas become Unicode where one line says them; prices, variables and code stay as they are."""

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.extras.drawings.math_text import formula_text, with_formulas
from tests.support.rows import each


@each(
    ("source", "shown"),
    [
        (r"e^{i\pi} + 1 = 0", "e^(iπ) + 1 = 0"),
        (r"\sum_{i=1}^n x_i \le \frac{a+b}{2}", "∑ᵢ₌₁ⁿ xᵢ ≤ (a+b)/2"),
        (r"\sqrt{x^2+y^2}", "√(x²+y²)"),
        (r"\sqrt[3]{x}", "∛x"),
        (r"\frac{1}{2}", "½"),
        (r"x\in\mathbb{R}", "x ∈ ℝ"),
        (r"a_{ij}^2", "aᵢⱼ²"),
        (r"O(n \log n)", "O(n log n)"),
        (r"\left( \alpha \right)", "( α )"),
        (r"90^\circ", "90°"),
        (r"\begin{matrix} a & b \end{matrix}", None),
        (r"\nope{x}", None),
        ("x^", None),
        ("{x", None),
        ("x}", None),
        (r"\hat{xyz}", None),
        ("{" * 200, None),
    ],
)
def test_a_formula_is_one_line_or_stays_as_it_is(source: str, shown: str | None) -> None:
    assert formula_text(source) == shown


@each(
    "text",
    [
        "it costs $5 and $6, or $5-$10",
        "US$100 and A$200, $3/item and $4/item",
        "$10-20$ a month",
        "echo $HOME/$PATH $1 $2 $a$b",
        "set `$x^2$` and ``$y_1$``",
        "$PATH$",
        r"\(unclosed and $also",
        r"a \$5^2\$ price",
    ],
)
def test_prices_variables_and_code_are_untouched(text: str) -> None:
    assert with_formulas(text) == text


def test_signs_of_markdown_in_a_formula_are_escaped() -> None:
    assert with_formulas("$A_1 * B_2 * C_q$ and *bold*") == r"A₁ \* B₂ \* C\_q and *bold*"


@given(st.text(alphabet="$\\({})^_ab1 `frac\n", max_size=60))
def test_no_text_raises_or_takes_long(text: str) -> None:
    with_formulas(text)
    formula_text(text)
