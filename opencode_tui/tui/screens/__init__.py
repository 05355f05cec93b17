"""Full pages over the chat: sessions, timeline, context, changes, long texts."""
