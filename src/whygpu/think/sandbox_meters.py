"""Rewrite a parsed template so that everything in it that can grow is measured as it runs.

Jinja's sandbox lets us watch calls, filters and operators. Loops, text, the ``~`` operator and lists written
out in the template it does not; each is wrapped in a call of a method of the environment, under a name
that no template can reach or redefine (``EnvironmentAttribute``).
"""

from collections.abc import Sequence

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.visitor import NodeTransformer

__all__ = ["Generation", "Meters"]


class Generation(Extension):
    """``{% generation %}`` ... ``{% endgeneration %}``: marks what the model said; it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 - as the library declares it

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The tag's body alone."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Meters(NodeTransformer):
    """Wraps loops, text, concatenation and written-out lists in calls of the environment."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Each turn is counted."""
        self.generic_visit(node)
        node.iter = _call("count_turns", [node.iter])
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """Each piece of text is counted, also those that the template has as they are."""
        self.generic_visit(node)
        node.nodes = [_call("count_text", [_expression(child)]) for child in node.nodes]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """The operands of ``~`` are measured first."""
        self.generic_visit(node)
        return _call("concatenate", node.nodes)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        """A tuple of tuples of tuples can be small in memory and endless to compare."""
        self.generic_visit(node)
        return _call("made", [node]) if node.ctx == "load" else node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        """As for tuples."""
        self.generic_visit(node)
        return _call("made", [node])

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        """As for tuples."""
        self.generic_visit(node)
        return _call("made", [node])


def _expression(node: nodes.Node) -> nodes.Node:
    return nodes.Const(node.data) if isinstance(node, nodes.TemplateData) else node


def _call(method: str, arguments: Sequence[nodes.Node]) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(method), [*arguments], [], None, None)
