"""Tables and functions for ``benchmarks.reactive``."""
