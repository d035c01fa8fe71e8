"""Agents that a busy or a failing conversation needs, for the chat in a browser."""
