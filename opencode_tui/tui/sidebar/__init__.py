"""The area at the right: context, todos, changes, sessions, folder and branch."""
