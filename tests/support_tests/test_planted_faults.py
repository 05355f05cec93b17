"""The faults that are planted on purpose still fit the source; that tests find them is tried by the benchmark itself."""

from tests.benchmarks.planted_faults import misfits


def test_every_planted_fault_fits_the_source() -> None:
    assert misfits() == []
