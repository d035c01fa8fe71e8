"""Kills real processes at every await point of the engine and its stores, and checks the laws.

Nothing of this is in the product.  ``rewriting`` names every ``await``, ``async with`` and
``async for`` while a module is imported, so that the list of points is made from the code and a
new one cannot be forgotten; ``points`` makes the process die, or freeze, where a plan says so;
``zygote`` forks processes that have everything imported; ``lane`` plays one scenario through its
deaths; ``campaign`` plays them all.  What has to hold afterwards is in ``tests.support.laws``.
"""
