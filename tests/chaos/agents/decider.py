"""An agent that makes the calls that it is told to make; see ``tests.support.deciding_agent``."""

from tests.support.deciding_agent import deciding_agent

a = deciding_agent()
