"""The agent loop: a program of the engine that asks a model, runs its tools, and asks again.

``program`` is the loop itself.  ``turn`` makes one model request and says what its
record holds; ``gate`` decides what may run; ``toolset`` runs it; ``history`` is what
the model reads.  Nothing outside a step reads a clock, draws a random number or
talks to anybody, so that a resumed run follows the one that was cut off.
"""
