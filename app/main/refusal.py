"""How a command gives up: a sentence for the person at the terminal, and an exit code.

The CLI prints the sentence after ``ropewalk:``; no traceback, nothing left running.
"""

from typing import Final

WRONG_DECLARATION: Final = 78
"""Exit code when something under ``agents/`` is wrong (EX_CONFIG of sysexits.h): to start the
process again is of no use before a file changes.  Everything else is 1."""


class Refusal(Exception):
    """What is wrong and, where there is one, the way out, in one sentence."""
