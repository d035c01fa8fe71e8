"""The one way in which a command gives up: a sentence for the person at the terminal.

The CLI prints it after ``ropewalk:`` and exits with code 1; no traceback, nothing left running.
"""


class Refusal(Exception):
    """What is wrong and, where there is one, the way out, in one sentence."""
