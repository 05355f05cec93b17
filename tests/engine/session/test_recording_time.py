"""The time of a call is its own: what recording its files takes is left out, and reported while it lasts."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.record.recording import StepRecording
