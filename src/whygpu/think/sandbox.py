"""Run a template that came with somebody's file: it reaches nothing of Python and ends soon.

Jinja's own immutable sandbox keeps it from attributes and from changing what it is given. Jinja bounds
neither time nor memory, so every step here (call, filter, operator, turn of a loop, piece of text) is
counted, its operands are measured before it runs and its result after, and the few operations that
multiply sizes are checked or left out. What is left gives what ``transformers`` gives (a test compares them).
"""

import functools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

from jinja2 import TemplateError
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from whygpu.engine import UserError
from whygpu.think.sandbox_meters import Generation, Meters

__all__ = ["render"]

MAX_TEMPLATE = 1 << 16
"""Characters of a template; the longest in use have about 20,000."""
MAX_SIZE = 1 << 20
"""Characters of any one value, and of the whole output."""
ELEMENT = 16
"""What an element of a list or mapping counts, in characters: about the time and memory that it costs."""
MAX_MADE = 1 << 25
"""Characters of all values that a rendering makes, together."""
MAX_STEPS = 400_000
MAX_SECONDS = 1.0

_FILTERS = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "first", "float", "indent", "int",
    "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr",
    "replace", "reverse", "round", "select", "selectattr", "slice", "sort", "string", "sum",
    "title", "trim", "unique", "upper", "wordcount",
)  # fmt: skip
_TEXT_METHODS = (
    "capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower",
    "isnumeric", "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix",
    "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "startswith", "strip", "swapcase", "title", "upper",
)  # fmt: skip
_DATE = re.compile(r"(?:[^%]|%-?[A-Za-z%]){0,200}")


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
        tree = Meters().visit(environment.parse(template))
        return "".join(environment.from_string(tree).generate(**values))
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
    except SyntaxError as error:  # of the code that Jinja makes: nested too deep for Python
        raise UserError(f"{where}: the chat template is nested too deep") from error


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox with a budget; made for one rendering."""

    intercepted_binops = frozenset({"+", "-", "*", "%", "**", "//", "/"})
    own: ClassVar = frozenset({"count_turns", "count_text", "concatenate", "made"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", Generation],
            cache_size=0,
        )
        self._deadline = time.monotonic() + MAX_SECONDS
        self._steps = self._written = self._made = 0
        self.filters = {name: self._metered(self.filters[name], name) for name in _FILTERS}
        self.filters["tojson"] = self._metered(_to_json, "tojson")
        self.filters["safe"] = self._metered(str, "safe")  # nothing is escaped, so nothing needs marking
        keep = {name: self.globals[name] for name in ("range", "dict", "namespace")}
        self.globals = {**keep, "raise_exception": _refuse, "strftime_now": _now}

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Count and measure every call."""
        if getattr(obj, "__self__", None) is self and obj.__name__ in self.own:
            return obj(*args)
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str):
            args = self._check_growth(getattr(obj, "__name__", ""), owner, args)
        self._step(owner if isinstance(owner, str) else None, args, kwargs)
        return self.made(super().call(context, obj, *args, **kwargs))

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
        return self.made(super().call_binop(context, operator, left, right))

    def count_turns(self, values: Iterable[Any]) -> Iterator[Any]:
        """The turns of a loop."""
        self._step()
        for value in values:
            self._step()
            yield value

    def count_text(self, value: Any) -> str:
        """A piece of text, on its way to the output or to a variable."""
        self._step(value)
        text = str(value)
        self._written += len(text)
        if self._written > MAX_SIZE:
            raise TooMuch("its output is too long")
        return text

    def concatenate(self, *values: Any) -> str:
        """The ``~`` operator."""
        self._step(values)
        return str(self.made("".join(map(str, values))))

    def made(self, value: Any) -> Any:
        """Charge a new value; of an iterator each element, when it comes."""
        if isinstance(value, Iterator) and not isinstance(value, Undefined):
            return self._charged(value)
        self._made += _measure(value)
        if self._made > MAX_MADE:
            raise TooMuch("it makes too much")
        return value

    def _charged(self, values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            self._step()
            yield self.made(value)

    def _metered(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A filter that is counted and whose operands are measured; Jinja's marks on it are kept."""
        skip = 1 if hasattr(function, "jinja_pass_arg") else 0

        def metered(*args: Any, **kwargs: Any) -> Any:
            first, real = args[:skip], args[skip:]
            self._step(real, kwargs)
            real = _check_filter(name, real, kwargs)
            if real and isinstance(real[0], str) and name == "replace":
                real = self._check_growth("replace", real[0], real[1:], whole=True)
            return self.made(function(*first, *real, **kwargs))

        return functools.update_wrapper(metered, function, updated=("__dict__",))

    def _check_growth(
        self, name: str, text: str, args: tuple[Any, ...], whole: bool = False
    ) -> tuple[Any, ...]:
        """The methods of text whose result may be much larger than their operands."""
        if name == "replace" and len(args) > 1 and (len(text) + 1) * len(str(args[1])) > MAX_SIZE:
            raise TooMuch("a replacement makes the text too long")
        if name == "join" and args:
            args = (_joinable(args[0], len(text)), *args[1:])
        return (text, *args) if whole else args

    def _step(self, *operands: Any) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS or time.monotonic() > self._deadline:
            raise TooMuch("it does not end")
        _measure(operands)


def _check_filter(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The filters whose work or result may be much larger than their operands."""
    if name == "join" and args:
        separator = args[1] if len(args) > 1 else kwargs.get("d", "")
        return (_joinable(args[0], len(str(separator))), *args[1:])
    if name in ("batch", "slice", "indent"):
        key = {"batch": "linecount", "slice": "slices", "indent": "width"}[name]
        count = args[1] if len(args) > 1 else kwargs.get(key, 4)
        lines = str(args[0]).count("\n") + 1 if name == "indent" else 1
        if not isinstance(count, int) or count * lines > MAX_SIZE // 8:
            raise TooMuch(f"{name} makes too much")
    if name == "sum":  # of lists it would copy them again and again
        start = args[2] if len(args) > 2 else kwargs.get("start", 0)
        if not isinstance(start, int | float):
            raise TooMuch("a sum of what are not numbers")
    return args


def _joinable(values: Any, separator: int) -> list[Any]:
    """What is to be joined, as a list whose joined text is not too long."""
    found, size = [], 0
    for value in values:
        size += _measure(value) + separator
        if size > MAX_SIZE:
            raise TooMuch("a joined text is too long")
        found.append(value)
    return found


def _measure(value: Any) -> int:
    """The size of a value, however it is nested or shared; refuses more than ``MAX_SIZE``."""
    size, open_values = 0, [value]
    while open_values:
        here = open_values.pop()
        if isinstance(here, str):
            size += len(here)
        elif isinstance(here, Mapping):
            open_values += [*here.keys(), *here.values()]
        elif isinstance(here, list | tuple | set | frozenset):
            open_values += here
        elif isinstance(here, Namespace):
            open_values.append(here._Namespace__attrs)
        elif isinstance(here, int) and here.bit_length() > 4096:
            size += MAX_SIZE + 1
        size += ELEMENT
        if size > MAX_SIZE:
            raise TooMuch("a value is too large")
    return size


def _refuse(message: object) -> None:
    raise UserError(f"the chat template refuses this conversation: {_short(message)}")


def _short(message: object) -> str:
    return " ".join(str(message).split())[:200]


def _now(form: object) -> str:
    """Today's date; a width in a directive (``%99999999d``) would fill the memory."""
    if not isinstance(form, str) or not _DATE.fullmatch(form):
        raise TooMuch("that is not a form of a date")
    return datetime.now().strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if indent is not None and (type(indent) is not int or not 0 <= indent <= 16):
        raise TooMuch("an indent is too large")
    if separators is not None and max(map(len, separators)) > 8:
        raise TooMuch("a separator is too long")
    encoder = json.JSONEncoder(
        ensure_ascii=bool(ensure_ascii), indent=indent, separators=separators, sort_keys=bool(sort_keys)
    )
    pieces, size = [], 0
    for piece in encoder.iterencode(value):
        size += len(piece)
        if size > MAX_SIZE:
            raise TooMuch("its JSON is too long")
        pieces.append(piece)
    return "".join(pieces)
