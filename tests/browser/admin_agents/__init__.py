"""Agents that give operators something to decide, to look at and to mend."""
