"""Every link and picture of the documentation leads to a file and a heading that are there."""

from pathlib import Path

from tests.support.rows import each
from tests.support.source.pages import ROOT, anchors, links, names


@each("name", names())
def test_every_link_into_the_repository_resolves(name: str) -> None:
    broken: list[str] = []
    for line, target in links(name):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists() or (anchor and anchor not in anchors(relative(file))):
            broken.append(f"{name}:{line}: {target}")
    assert broken == []


@each("name", [name for name in names() if name.startswith("docs/")])
def test_a_page_of_the_site_links_to_pages_and_pictures_of_the_site_only(name: str) -> None:
    files = [(line, target, (ROOT / name).parent / target.partition("#")[0]) for line, target in links(name)]
    outside = [f"{name}:{line}: {target}" for line, target, file in files if not in_site(file)]
    assert outside == []


def test_the_list_of_pages_and_the_site_have_every_page() -> None:
    pages = {Path(name).relative_to("docs").as_posix() for name in names() if name.startswith("docs/")}
    listed = (ROOT / "packaging" / "mkdocs.yml").read_text("utf-8")
    assert sorted(page for page in pages if f"- {page}\n" not in listed) == []
    index = {target for _, target in links("docs/index.md")}
    assert sorted(page for page in pages if "/" not in page and page != "index.md" and page not in index) == []


def test_a_heading_has_the_anchor_of_github(tmp_path: Path) -> None:
    assert {"what-is-kept", "background-commands"} <= anchors("docs/undo.md")
    assert "no-such-heading" not in anchors("docs/undo.md")


def relative(file: Path) -> str:
    return file.resolve().relative_to(ROOT).as_posix()


def in_site(file: Path) -> bool:
    return any(file.resolve().is_relative_to(ROOT / folder) for folder in ("docs", "assets"))
