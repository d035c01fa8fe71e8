"""Names every await of a module, by rewriting its syntax tree.

    await x          ->  after(7, await before(6, x))         f#1:before, f#1:after
    async with x     ->  async with Around(8, x)              f#2:entering, entered, leaving, left
    async for y in x ->  async for y in Each(12, x)           f#3:next, got

A point is called ``MODULE:FUNCTION#N:WHERE``; N counts the awaits of a function from 1, in the
order of its source, so that a change elsewhere does not rename it.
"""

import ast
from collections import Counter
from typing import TypeVar

from tests.support.crash_points import points

RUNTIME = "__crash_points__"
"""The name under which a rewritten module finds ``points``."""

AWAIT = ("before", "after")
WITH = ("entering", "entered", "leaving", "left")
FOR = ("next", "got")

F = TypeVar("F", ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def rewritten(source: str, module: str, path: str) -> ast.Module:
    """Return a module's tree with every await named."""
    tree = ast.parse(source, path)
    _Rewriter(module).visit(tree)
    return ast.fix_missing_locations(tree)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module
        self._scope: list[str] = []
        self._awaits: Counter[str] = Counter()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._scoped(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._scoped(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._scoped(node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        number = self._named(AWAIT)
        self.generic_visit(node)
        node.value = _call("before", number, node.value)
        return ast.copy_location(_call("after", number + 1, node), node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        for item in node.items:
            number = self._named(WITH)
            item.context_expr = _call("Around", number, self.visit(item.context_expr))
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        number = self._named(FOR)
        self.generic_visit(node)
        node.iter = _call("Each", number, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        number = self._named(FOR) if node.is_async else None
        self.generic_visit(node)
        if number is not None:
            node.iter = _call("Each", number, node.iter)
        return node

    def _scoped(self, node: F) -> F:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()
        return node

    def _named(self, places: tuple[str, ...]) -> int:
        """Return the number of the first of these points; the others follow it."""
        function = f"{self._module}:{'.'.join(self._scope)}"
        self._awaits[function] += 1
        name = f"{function}#{self._awaits[function]}"
        first, *_ = [points.number_of(f"{name}:{place}") for place in places]
        return first


def _call(function: str, number: int, value: ast.expr) -> ast.Call:
    runtime = ast.Name(RUNTIME, ast.Load())
    called = ast.Attribute(runtime, function, ast.Load())
    return ast.copy_location(ast.Call(called, [ast.Constant(number), value], []), value)
