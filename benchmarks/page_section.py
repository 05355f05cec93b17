"""A section of a page of the documentation that a benchmark writes, between two markers."""

from pathlib import Path

_DOCS = Path(__file__).parents[1] / "docs"


class PageSection:
    """The section that `python -m benchmarks NAME --write` replaces in a page."""

    def __init__(self, name: str, page: str) -> None:
        self.begin = f"<!-- {name}: written by `python -m benchmarks {name} --write` -->"
        self.end = f"<!-- {name} end -->"
        self._page = _DOCS / page

    def check(self) -> None:
        """Raise ValueError when the page does not have the markers."""
        self.replaced(self._page.read_text(encoding="utf-8"), "")

    def write(self, text: str) -> None:
        """Replace the section of the page; raises ValueError when it does not have the markers."""
        self._page.write_text(self.replaced(self._page.read_text(encoding="utf-8"), text), encoding="utf-8")

    def replaced(self, page: str, text: str) -> str:
        """Return a page with this text between the markers; raises ValueError when it does not have them."""
        before, begin, rest = page.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise ValueError(f"the page has no lines {self.begin!r} and {self.end!r}; add them where the table belongs")
        return f"{before}{self.begin}\n{text.strip()}\n{self.end}{after}"
