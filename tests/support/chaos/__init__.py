"""Storms: a whole deployment under load while everything breaks, and the laws afterwards.

``storm`` is one round: ``load`` and ``crowd`` are the people, ``nemesis`` and its hands the faults,
``laws`` (and ``tests.support.laws``) the judgement.  ``deployment`` is what they happen to.
"""
