"""What the files were: states of a worktree, kept apart from the person's repository, and the way back to them.

Bottom-up: `entry` (what a path is), `pack`, `tree`, `store`, `repack` (git objects in a folder of our own), `manifest` and `view`
(what a snapshot says), `graft`, `compose`, `changes` (snapshots from snapshots), `disk` and `observe` (looking at one path, never
through a link), `ignore`, `git_index`, `wanted`, `stat_cache`, `mode_table`, `frame`, `scan` (looking at all), `claims` (who did
what), `report`, `plan`, `journal`, `restore` (the way back), `place`, `quota`, `diff`, `work` (what is done under the lock),
`telling` (what is said of it), `door` (the lock and the thread), and `snapshot`, the service; beside it `partial`, `tally`,
`recorded`, `recording` and `dead_steps`: what one step did. Source: SPEC, section 5.
"""
