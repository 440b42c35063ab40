"""The ranks of one job, over torch.distributed: NCCL between GPUs, gloo between CPUs."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.engine.errors import UserError
from whygpu.engine.ledger import other
from whygpu.engine.ranks.alone import Ranks

if TYPE_CHECKING:
    from whygpu.engine.backends import Backend

__all__ = ["Group"]

PATIENCE = 20.0
"""Seconds that ranks wait for each other to appear; ``WHYGPU_RANKS_PATIENCE`` says otherwise."""
SILENCE = 600.0
"""Seconds that a rank may work between two messages. A rank that dies is noticed at once: its connections
close, and torchrun ends the others."""
CLAIM = "whygpu/failed"
WARM = 3
"""Transfers that are not counted: connections are made at the first."""


class Group(Ranks):
    """Rank ``rank`` of ``size``."""

    def __init__(self, backend: Backend, distributed: Any, store: Any) -> None:
        self.backend, self._distributed, self._store = backend, distributed, store
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self._agreed = 0

    @classmethod
    def meet(cls, backend: Backend) -> Group:
        """Meet the ranks that torchrun's variables name.

        Raises
        ------
        UserError
            One line: a variable is missing or impossible, nobody answers, or the backend has no way to talk.
        """
        rank, size = _number("RANK"), _number("WORLD_SIZE")
        if not 0 <= rank < size:
            raise UserError(f"RANK is {rank} of WORLD_SIZE {size}; ranks count from 0 to WORLD_SIZE - 1")
        address, port = os.environ.get("MASTER_ADDR"), _number("MASTER_PORT")
        if not address:
            raise UserError("MASTER_ADDR is not set; start the ranks with torchrun, which sets it")
        if not backend.name.startswith(("cpu", "numpy", "torch:")):
            raise UserError(f"device {backend.name}: ranks talk through PyTorch; use cpu or torch:<device>")
        if importlib.util.find_spec("torch") is None:
            raise UserError("several ranks need PyTorch; pip install 'whygpu[torch]'")
        # its C++ code prints a stack of frames where nobody answers; the one line that follows is enough
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
        import torch
        from torch import distributed as every

        distributed: Any = every

        _choose_device(backend, torch, size)
        patience = float(os.environ.get("WHYGPU_RANKS_PATIENCE", PATIENCE))
        kind = "nccl" if getattr(backend.device, "type", "cpu") == "cuda" else "gloo"
        try:
            agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # torchrun keeps the store
            store = distributed.TCPStore(
                address, port, is_master=rank == 0 and not agent, timeout=timedelta(seconds=patience),
                wait_for_workers=False,
            )  # fmt: skip
            store.set_timeout(timedelta(seconds=patience))
            own = distributed.PrefixStore(
                f"whygpu/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store
            )
            _check_size(own, rank, size)
            distributed.init_process_group(
                kind, store=own, rank=rank, world_size=size, timeout=timedelta(seconds=SILENCE)
            )
        except (RuntimeError, ValueError, OSError) as error:
            where = f"{address}:{port}"
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:100].rstrip(".")
            raise UserError(
                f"rank {rank} of {size} met nobody at {where} within {patience:g} s ({reason}); "
                "check the address, the port and that as many ranks were started"
            ) from error
        return cls(backend, distributed, own)

    def sum(self, array: Any, name: str) -> Any:
        """All-reduce; a ring sends and receives 2 (size - 1) / size of the array's bytes on each rank."""
        tensor, back = self._tensor(array)
        moved = 2 * (self.size - 1) * tensor.numel() * tensor.element_size() // self.size
        flop = tensor.numel() * (self.size - 1) // self.size
        with other(f"all-reduce, {name}", flop=flop, size=moved), _lost(self):
            self._distributed.all_reduce(tensor)
        return back(tensor)

    def gather(self, array: Any, rows: Sequence[int], name: str) -> Any:
        """All-gather; each rank receives what the others have. Shorter arrays are padded on the way."""
        tensor, back = self._tensor(array)
        import torch

        longest = max(rows)
        with other(f"all-gather, {name}", size=(self.size - 1) * tensor.numel() * tensor.element_size()):
            padded = torch.nn.functional.pad(tensor, (0, longest - tensor.shape[-1])).contiguous()
            parts = [torch.empty_like(padded) for _ in rows]
            with _lost(self):
                self._distributed.all_gather(parts, padded)
            whole = torch.cat([part[..., :n] for part, n in zip(parts, rows, strict=True)], dim=-1)
        return back(whole)

    def objects(self, value: Any) -> list[Any]:
        """By pickle, among processes of one job."""
        gathered: list[Any] | None = [None] * self.size if self.rank == 0 else None
        with _lost(self):
            self._distributed.gather_object(value, gathered, dst=0)
        return gathered or []

    def agree(self, what: str, value: str) -> None:
        """By the store, so that those that never come are noticed too."""
        self._agreed += 1
        key = f"agree/{self._agreed}"
        self._store.set(f"{key}/{self.rank}", value)
        for rank in range(self.size):
            with _lost(self):
                theirs = self._store.get(f"{key}/{rank}").decode("utf-8", "replace")
            if theirs != value:
                raise UserError(
                    f"rank {self.rank} has {what} {value!r:.60}, rank {rank} has {theirs!r:.60}; "
                    "all ranks must be started alike"
                )

    @property
    def transport(self) -> str:
        """``gloo`` or ``nccl``."""
        return str(self._distributed.get_backend())

    def everyones(self, value: Any) -> list[Any]:
        """What each rank has to say, in their order, on all ranks."""
        said: list[Any] = [None] * self.size
        with _lost(self):
            self._distributed.all_gather_object(said, value)
        return said

    def timed(self, kind: str, size: int, repeats: int) -> list[float]:
        """Seconds of each of ``repeats`` transfers of ``size`` bytes, once a few are through.

        ``all-reduce``, ``all-gather``, or ``point-to-point``: to the next rank and back, halved.
        """
        import torch

        device = self.backend.device if self.transport == "nccl" else "cpu"
        array = torch.ones(size // 4, device=device)
        parts = [torch.empty_like(array) for _ in range(self.size)]
        transfers: dict[str, Callable[[], object]] = {
            "all-reduce": lambda: self._distributed.all_reduce(array),
            "all-gather": lambda: self._distributed.all_gather(parts, array),
            "point-to-point": lambda: self._there_and_back(array),
        }
        samples = []
        for number in range(repeats + WARM):
            with _lost(self):
                self._distributed.barrier()
                seconds = self.backend.seconds(transfers[kind])
            array.fill_(1)
            if number >= WARM:
                samples.append(seconds / 2 if kind == "point-to-point" else seconds)
        return samples

    def _there_and_back(self, array: Any) -> None:
        """Even ranks send first; a last rank without a partner waits for nobody."""
        partner = self.rank ^ 1
        if partner >= self.size:
            return
        first, second = self._distributed.send, self._distributed.recv
        if self.rank % 2:
            first, second = second, first
        first(array, partner)
        second(array, partner)

    def claim(self) -> bool:
        """Whether this is the first rank that failed."""
        try:
            return int(self._store.add(CLAIM, 1)) == 1
        except (RuntimeError, OSError):  # rank 0, which keeps the store, is gone
            return True

    def close(self) -> None:
        """Leave the group; whoever is gone already is not waited for."""
        with contextlib.suppress(RuntimeError, ValueError):
            self._distributed.destroy_process_group()

    def _tensor(self, array: Any) -> tuple[Any, Any]:
        """A tensor over the same memory where it can be, and the way back."""
        if isinstance(array, np.ndarray):
            import torch

            return torch.from_numpy(np.ascontiguousarray(array)), lambda tensor: tensor.numpy()
        return array.contiguous(), lambda tensor: tensor


def _check_size(store: Any, rank: int, size: int) -> None:
    """Ranks of another count would wait for ever."""
    store.set(f"size/{rank}", str(size))
    for other_rank in range(size):
        theirs = int(store.get(f"size/{other_rank}"))
        if theirs != size:
            raise UserError(
                f"rank {rank} was started as one of {size}, rank {other_rank} as one of {theirs}; "
                "give all the same --nnodes and --nproc-per-node"
            )


def _choose_device(backend: Any, torch: Any, size: int) -> None:
    """Each rank of a machine takes a GPU of its own."""
    device = backend.device
    if getattr(device, "type", "cpu") != "cuda" or device.index is not None:
        return
    local, found = _number("LOCAL_RANK", 0), torch.cuda.device_count()
    if local >= found:
        raise UserError(
            f"rank {local} of this machine has no GPU: {found} are here; start --nproc-per-node {found}"
        )
    torch.cuda.set_device(local)
    backend.device = torch.device("cuda", local)


def _number(name: str, default: int | None = None) -> int:
    text = os.environ.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError:
        raise UserError(
            f"{name} is {text!r:.40}; a whole number is needed: start the ranks with torchrun"
        ) from None


@contextlib.contextmanager
def _lost(group: Group) -> Iterator[None]:
    """A message that does not arrive means that somebody is gone."""
    try:
        yield
    except RuntimeError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = re.sub(r"\[/\S+\] ", "", reason).partition(". ")[0][:120]
        raise UserError(
            f"rank {group.rank} of {group.size} lost another rank ({reason}); its own line says why"
        ) from error
