"""Screens that are left once, however often the key for it comes."""

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import Screen

T = TypeVar("T")


class ClosingOnce(Screen[T]):
    """A screen over others; a second key in the moment in which it closes leaves no other screen and raises nothing."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave the screen."""
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()
