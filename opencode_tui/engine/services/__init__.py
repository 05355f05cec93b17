"""Builds the services of the engine, once each, with explicit collaborators.

Nothing is global, and nothing else builds services. A service that is built on demand is one method with `@service`
(`engine/lazy.py`). Guards: `tests/stories/`.
"""
