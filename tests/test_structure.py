"""The structure of the source: one router handles keys, no imports form a cycle, every file is in one package."""

from pathlib import Path

import pytest

from tests.benchmarks.bench_structure import HANDLERS_GOAL
from tests.support.source.structure import binding_tables, is_extra, key_handlers, package_sizes
from tests.support.source.tree import SourceTree, read_source_tree

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tree() -> SourceTree:
    return read_source_tree(ROOT)


def test_one_router_and_the_editor_handle_keys(tree: SourceTree) -> None:
    assert (len(key_handlers(tree)), binding_tables(tree)) == (HANDLERS_GOAL, [])


@pytest.mark.slow
def test_no_imports_form_a_cycle(tree: SourceTree) -> None:
    assert tree.cycles() == []


def test_every_file_of_the_product_is_in_one_package() -> None:
    sizes = package_sizes(ROOT)
    assert sum(size.modules for size in sizes.values()) == len(read_source_tree(ROOT).modules)
    assert {name for name in sizes if is_extra(name)} >= {"extras/vim", "extras/dask"}
