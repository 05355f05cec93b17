"""Agents: who answers, with which prompt, model and permissions; the built-in seven and the person's own."""
