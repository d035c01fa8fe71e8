"""Agents whose calls wait for people, on every kind of terms, for the chat in a browser."""
