"""The suites, by what they need; see ``tests/conftest.py``."""
