"""A function recorded once as a CUDA graph: hundreds of kernels started by one launch."""

from collections.abc import Callable
from typing import Any

__all__ = ["Graph"]

WARM = 3
"""Calls before recording: libraries choose their kernels and take their memory in these."""


class Graph:
    """Call it as the function; the arrays it was first called with are those that it works on.

    A later array that is another is copied into the first one's place. Results stay where they are: the next
    call overwrites them.
    """

    def __init__(self, torch: Any, function: Callable[..., Any]) -> None:
        self._torch, self._function = torch, function
        self._graph: Any = None
        self._held: list[Any] = []
        self._out: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record at the first call, replay at the others."""
        given = _tensors((args, kwargs), self._torch)
        if self._graph is None:
            self._record(given, args, kwargs)
        else:
            for held, new in zip(self._held, given, strict=True):
                if held is not new:
                    held.copy_(new)
        self._graph.replay()
        return self._out

    def _record(self, given: list[Any], args: Any, kwargs: Any) -> None:
        cuda = self._torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for _ in range(WARM):
                self._function(*args, **kwargs)
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self._out = self._function(*args, **kwargs)
        self._graph, self._held = graph, given


def _tensors(value: Any, torch: Any) -> list[Any]:
    """Every tensor in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for part in value for tensor in _tensors(part, torch)]
