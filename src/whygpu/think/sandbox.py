"""Run a template that came with somebody's file: it reaches nothing of Python and ends soon.

Jinja's own immutable sandbox keeps it from attributes and from changing what it is given. Jinja bounds
neither time nor memory, so every step here (call, filter, operator, turn of a loop, piece of output) is
counted, its operands are measured before it runs, and the few operations that multiply sizes are checked
or left out.
"""

import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeVisitor

from whygpu.engine import UserError

__all__ = ["render"]

MAX_TEMPLATE = 1 << 16
"""Characters of a template; the longest in use have about 20,000."""
MAX_SIZE = 1 << 20
"""Characters and elements of any one value, and of the whole output."""
MAX_STEPS = 200_000
MAX_SECONDS = 2.0

_FILTERS = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int",
    "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr",
    "replace", "reverse", "round", "select", "selectattr", "slice", "sort", "string", "sum",
    "title", "trim", "unique", "upper",
)  # fmt: skip
_TEXT_METHODS = (
    "capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower",
    "isnumeric", "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix",
    "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "startswith", "strip", "title", "upper",
)  # fmt: skip


class TooMuch(Exception):
    """The template does more than any chat template needs."""


def render(template: str, values: Mapping[str, Any], where: str) -> str:
    """Fill a template in; ``where`` begins the error's line.

    Raises
    ------
    UserError
        For a template that is wrong, refuses its input, reaches for what it may not, or does not end.
    """
    if len(template) > MAX_TEMPLATE:
        raise UserError(f"{where}: the chat template has {len(template)} characters; at most {MAX_TEMPLATE}")
    environment = _Environment()
    try:
        tree = environment.parse(template)
        _Meters().visit(tree)
        return environment.from_string(tree).render(**values)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    except RecursionError as error:
        raise UserError(f"{where}: the chat template calls itself without end") from error
    except (TemplateError, TooMuch) as error:
        raise UserError(f"{where}: the chat template cannot be used ({_line(error)})") from error
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, MemoryError) as error:
        raise UserError(
            f"{where}: the chat template fails ({type(error).__name__}: {_line(error)})"
        ) from error


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


class _Meters(NodeVisitor):
    """Put a meter around what Jinja itself does not let us watch: loops and the ``~`` operator."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> None:
        for name, value in list(node.iter_fields()):
            if isinstance(value, nodes.Concat):
                setattr(node, name, _call("_concat", value.nodes))
            elif isinstance(value, list):
                value[:] = [_call("_concat", v.nodes) if isinstance(v, nodes.Concat) else v for v in value]
        if isinstance(node, nodes.For):
            node.iter = _call("_turns", [node.iter])
        super().generic_visit(node)


def _call(name: str, arguments: list[Any]) -> nodes.Call:
    return nodes.Call(nodes.Name(name, "load"), arguments, [], None, None)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox with a budget; made for one rendering."""

    intercepted_binops = frozenset({"+", "*", "%", "**", "//", "/"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols"],
            finalize=self._output,
            cache_size=0,
        )
        self._deadline = time.monotonic() + MAX_SECONDS
        self._steps = self._written = 0
        self.filters = {name: self._metered(self.filters[name]) for name in _FILTERS}
        self.filters["tojson"] = self._metered(_to_json)
        keep = {name: self.globals[name] for name in ("range", "dict", "namespace")}
        self.globals = {**keep, "raise_exception": _refuse, "_turns": self._turns, "_concat": self._concat}

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Count and measure every call."""
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str):
            self._check_growth(getattr(obj, "__name__", ""), owner, args)
        self._step(owner if isinstance(owner, str) else None, args, kwargs)
        return super().call(context, obj, *args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Of text only harmless methods, of numbers none: ``center`` and ``to_bytes`` fill the memory."""
        if isinstance(obj, str):
            return attr in _TEXT_METHODS
        if isinstance(obj, int | float | bytes):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """No special way for ``format``: it is refused like the other methods that are not listed."""

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Count and measure every operator that can make something larger."""
        self._step(left, right)
        if operator == "**" or (operator == "%" and isinstance(left, str)):
            raise TooMuch(f"the operator {operator} is not allowed here")
        if operator == "*":
            sizes = [len(v) if hasattr(v, "__len__") else v for v in (left, right)]
            if all(isinstance(size, int) for size in sizes) and abs(sizes[0] * sizes[1]) > MAX_SIZE:
                raise TooMuch("a product is too large")
        return super().call_binop(context, operator, left, right)

    def _metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that is counted and whose operands are measured; Jinja's marks on it are kept."""
        skip = 1 if hasattr(function, "jinja_pass_arg") else 0

        @functools.wraps(function)
        def metered(*args: Any, **kwargs: Any) -> Any:
            real = args[skip:]
            self._step(real, kwargs)
            if real and isinstance(real[0], str) and function.__name__ == "do_replace":
                self._check_growth("replace", real[0], real[1:])
            if len(real) > 1 and function.__name__ == "do_join":
                self._check_growth("join", str(real[1]), real[:1])
            if (
                function.__name__ in ("do_batch", "do_slice")
                and isinstance(real[1], int)
                and real[1] > MAX_STEPS
            ):
                raise TooMuch("a list is cut into too many parts")
            return function(*args, **kwargs)

        return metered

    def _check_growth(self, name: str, text: str, args: tuple[Any, ...]) -> None:
        """The methods of text whose result may be much larger than their operands."""
        if name == "replace" and len(args) > 1 and (len(text) + 1) * len(str(args[1])) > MAX_SIZE:
            raise TooMuch("a replacement makes the text too long")
        if name == "join" and args and hasattr(args[0], "__len__") and len(args[0]) * len(text) > MAX_SIZE:
            raise TooMuch("a joined text is too long")

    def _step(self, *operands: Any) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS or time.monotonic() > self._deadline:
            raise TooMuch("it does not end")
        _measure(operands)

    def _turns(self, values: Iterable[Any]) -> Iterator[Any]:
        self._step()
        for value in values:
            self._step()
            yield value

    def _concat(self, *values: Any) -> str:
        self._step(values)
        return "".join(map(str, values))

    def _output(self, value: Any) -> Any:
        self._step(value)
        if isinstance(value, Undefined):
            return value
        text = str(value)
        self._written += len(text)
        if self._written > MAX_SIZE:
            raise TooMuch("its output is too long")
        return text


def _measure(value: Any) -> None:
    """Refuse a value of more than ``MAX_SIZE`` characters and elements, however it is nested or shared."""
    size, open_values = 0, [value]
    while open_values:
        here = open_values.pop()
        if isinstance(here, str):
            size += len(here)
        elif isinstance(here, Mapping):
            open_values += [*here.keys(), *here.values()]
        elif isinstance(here, list | tuple | set | frozenset):
            open_values += here
        elif isinstance(here, int) and here.bit_length() > 4096:
            size += MAX_SIZE + 1
        size += 1
        if size > MAX_SIZE:
            raise TooMuch("a value is too large")


def _refuse(message: object) -> None:
    raise UserError(f"the chat template refuses this conversation: {str(message)[:200]}")


def _to_json(value: Any, indent: int | None = None) -> str:
    if indent is not None and not 0 <= indent <= 16:
        raise TooMuch("an indent is too large")
    return json.dumps(value, ensure_ascii=False, indent=indent)
