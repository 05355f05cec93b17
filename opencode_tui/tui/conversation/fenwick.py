"""A list of numbers with prefix sums, each operation in logarithmic time."""

from collections.abc import Iterable
from itertools import accumulate


class Fenwick:
    """A list of numbers with prefix sums: append, change, truncate, sum, and search by sum."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._tree: list[int] = [0]
        self.replace(0, values)

    def __len__(self) -> int:
        return len(self._tree) - 1

    def replace(self, start: int, values: Iterable[int]) -> None:
        """Replace all numbers from `start` on."""
        base = self.sum(start)
        sums = [0] * start + [base + partial for partial in accumulate(values, initial=0)]
        tree = self._tree
        del tree[start + 1 :]
        for index in range(start + 1, len(sums)):
            low = index & -index
            below = index - low
            tree.append(sums[index] - (sums[below] if below >= start else self.sum(below)))

    def add(self, index: int, delta: int) -> None:
        """Change one number."""
        tree, size = self._tree, len(self._tree)
        index += 1
        while index < size:
            tree[index] += delta
            index += index & -index

    def sum(self, count: int) -> int:
        """Return the sum of the first `count` numbers."""
        tree, total = self._tree, 0
        while count > 0:
            total += tree[count]
            count &= count - 1
        return total

    @property
    def total(self) -> int:
        """The sum of all."""
        return self.sum(len(self._tree) - 1)

    def find(self, value: int) -> int:
        """Return how many numbers from the first on have a sum of at most `value`; numbers are not negative."""
        tree, size = self._tree, len(self._tree)
        index, step = 0, 1 << max(0, size.bit_length() - 1)
        while step:
            after = index + step
            if after < size and tree[after] <= value:
                index = after
                value -= tree[after]
            step >>= 1
        return index
