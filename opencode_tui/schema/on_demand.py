"""A sequence whose items are made when they are asked for: a list of 100,000 sessions shows 40 of them."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class OnDemand(Sequence[T_co]):
    """A subclass has `__len__` and `item`; a slice is a list."""

    @abstractmethod
    def item(self, at: int) -> T_co:
        """Return an item by its number, from 0 on."""

    @overload
    def __getitem__(self, at: int) -> T_co: ...
    @overload
    def __getitem__(self, at: slice) -> list[T_co]: ...
    def __getitem__(self, at: int | slice) -> T_co | list[T_co]:
        count = len(self)
        if isinstance(at, slice):
            return [self.item(one) for one in range(*at.indices(count))]
        if not -count <= at < count:
            raise IndexError(at)
        return self.item(at % count)
