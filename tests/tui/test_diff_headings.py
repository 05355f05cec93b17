"""Which function or heading a line stands in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.tui.diff.headings import Headings
from tests.support.rows import each


@each(
    ("path", "line", "name"),
    [
        ("a.py", "    async def close(self, *, now: bool) -> None:", "def close"),
        ("a.py", "class Writer(Base[int]):", "class Writer"),
        ("a.py", "class Writer:", "class Writer"),
        ("a.py", "    default = 3", ""),
        ("a.py", "classes = []", ""),
        ("a.ts", "export default async function load<T>(url: string) {", "function load<T>"),
        ("a.ts", "  private async handle(request: Request): Promise<void> {", "handle"),
        ("a.ts", "export interface Options extends Base {", "interface Options extends Base"),
        ("a.ts", "  if (one) {", ""),
        ("a.ts", "  } else if (one) {", ""),
        ("a.ts", "describe('x', () => {", ""),
        ("a.ts", "  const found = list.map((one) => {", ""),
        ("A.java", "    public static void main(String[] args) {", "void main"),
        ("A.java", "        foo(bar);", ""),
        ("a.kt", "data class Point(val x: Int)", "class Point"),
        ("a.c", "static int read_all(int fd, char *into)", "int read_all"),
        ("a.c", "struct point {", "struct point"),
        ("a.c", "int read_all(int fd);", ""),
        ("a.cpp", "void Writer::close() {", "void Writer::close"),
        ("a.c", "    for (int i = 0; i < n; i++) {", ""),
        ("a.go", "func (s *Server) Close(now bool) error {", "func (s *Server) Close"),
        ("a.go", "func main() {", "func main"),
        ("a.go", "type Server struct {", "type Server struct"),
        ("a.rs", "    pub async fn close(&mut self) -> Result<()> {", "fn close"),
        ("a.rs", "pub(crate) fn open() {", "fn open"),
        ("a.rs", "impl<T> Display for Point<T> {", "impl<T> Display for Point<T>"),
        ("a.rb", "  def close", "def close"),
        ("README.md", "## How it works ##", "## How it works"),
        ("README.md", "#hashtag", ""),
        ("a.toml", "[tool.ruff]", "[tool.ruff]"),
        ("a.yml", "jobs:", "jobs"),
        ("a.yml", "  build:", ""),
        ("Makefile", "install: build", "install"),
        ("a.css", ".row:hover {", ".row:hover"),
        ("a.sh", "close() {", "close"),
        ("a.sh", "function close {", "close"),
        ("a.txt", "def close():", ""),
    ],
)  # fmt: skip
def test_a_line_begins_what_its_language_says(path: str, line: str, name: str) -> None:
    assert Headings([line], path).above(2) == name


def test_a_line_stands_in_the_last_one_above_it() -> None:
    headings = Headings(["import os", "def one():", "    pass", "def two():", "    pass"], "a.py")
    assert [headings.above(number) for number in (1, 2, 3, 4, 5, 9)] == [
        "",
        "",
        "def one",
        "def one",
        "def two",
        "def two",
    ]


def test_a_comment_in_a_code_block_is_no_heading_of_a_page() -> None:
    assert Headings(["# Use", "```sh", "# install", "```", "text"], "a.md").above(5) == "# Use"


@pytest.mark.slow
@given(
    st.text(max_size=40), st.sampled_from(["py", "ts", "java", "c", "go", "rs", "rb", "md", "toml", "yml", "css", "sh"])
)
def test_any_line_is_taken(line: str, ending: str) -> None:
    name = Headings([line], f"a.{ending}").above(2)
    assert [word for word in name.split() if word not in line] == []
