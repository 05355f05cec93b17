"""Actions of the chat, by ID: each calls the controller, or opens a dialog or a screen."""
