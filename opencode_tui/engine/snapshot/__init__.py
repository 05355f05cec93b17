"""What the files were: states of a worktree, kept apart from the person's repository, and the way back to them.

Bottom-up: `entry` (what a path is), `pack` and `store` (git objects in a folder of our own), `tree` and `manifest` (what a snapshot
is made of), `view` (reading one), `disk` (calls that no link leads astray), `observe`, `ignore`, `scan` (from files to a snapshot),
`claims` (who changed what), `plan`, `journal`, `restore` (the way back), `diff`, `quota`, and `snapshot`, the service.
Source: SPEC, section 5.
"""
