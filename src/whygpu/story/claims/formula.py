"""A formula of ``claims.toml``: computed, and shown with its numbers put in. Plain arithmetic only."""

import ast
import operator
from collections.abc import Callable, Mapping
from math import ceil

from whygpu.story.claims.quantity import Quantity

__all__ = ["compute", "names_in", "shown", "with_numbers"]

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"max": max, "min": min, "ceil": ceil}


def names_in(formula: str) -> set[str]:
    """The names that a formula needs.

    Raises
    ------
    ValueError
        For anything but names, numbers, ``+ - * / **``, ``max``, ``min`` and ``ceil``.
    """
    return _names(_parsed(formula))


def compute(formula: str, values: Mapping[str, Quantity]) -> float | str:
    """Its value; whole numbers stay whole. A formula that is one name may stand for a word."""
    body = _parsed(formula)
    if isinstance(body, ast.Name):
        return values[body.id].value
    return _value(body, values)


def shown(formula: str) -> str:
    """The formula as people write it."""
    return _typeset(ast.unparse(_parsed(formula)))


def with_numbers(formula: str, values: Mapping[str, Quantity]) -> str:
    """The formula with each name replaced by its value and unit."""
    body = _parsed(formula)
    if isinstance(body, ast.Name):
        return str(values[body.id])
    return _typeset(ast.unparse(_PutIn(values).visit(body)))


class _PutIn(ast.NodeTransformer):
    """Names become their values, numbers get their thousands separators."""

    def __init__(self, values: Mapping[str, Quantity]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A name becomes its value with its unit; in brackets where the unit is a rate."""
        if node.id not in self.values:  # a function
            return node
        text = str(self.values[node.id])
        return ast.Name(f"({text})" if "/" in text else text)

    def visit_Constant(self, node: ast.Constant) -> ast.Name:
        """A number of the formula itself."""
        return ast.Name(f"{node.value:,}" if isinstance(node.value, int | float) else ast.unparse(node))


def _parsed(formula: str) -> ast.expr:
    try:
        body = ast.parse(formula, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{formula!r} is no formula") from error
    _names(body)
    return body


def _names(node: ast.expr) -> set[str]:
    match node:
        case ast.Constant(value=int() | float()):
            return set()
        case ast.Name():
            return {node.id}
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            return _names(node.left) | _names(node.right)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return {part for argument in node.args for part in _names(argument)}
    raise ValueError(f"{ast.unparse(node)!r}: a formula has names, numbers, + - * / **, max, min and ceil")


def _value(node: ast.expr, values: Mapping[str, Quantity]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            value = values[name].value
            if isinstance(value, str):
                raise ValueError(f"{name} is the word {value!r}, not a number")
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_value(argument, values) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)!r} cannot be computed")


def _typeset(text: str) -> str:
    return text.replace(" ** ", "^").replace(" * ", " × ").replace(" - ", " − ")
