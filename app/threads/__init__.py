"""Threads as people see them: what is shown of a row, and what starting one takes."""
