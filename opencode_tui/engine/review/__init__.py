"""The changes of a work tree piece by piece: commits of the marked ones, pushes, pull requests.

A commit holds what was shown: pieces have IDs of their content, and one that has changed since is refused. Until a commit of
git's own has succeeded nothing of the repository changes, so that a hook or a signature that fails loses nothing. Start at
`commit.py`; guards: `tests/engine/review/`.
"""
