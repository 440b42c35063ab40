"""Measurements of serving runtimes (the columns of ``serving.csv``) as cases with measured times per
token."""

import re
from collections.abc import Mapping

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.models.lookup import find_outline
from whygpu.models.outline import Outline
from whygpu.predict.cases import runtime_of
from whygpu.predict.names import hardware
from whygpu.predict.quants import Storage
from whygpu.predict.read_speed import Row, number
from whygpu.predict.serving import BITS, Serving

__all__ = ["serving_rows"]


def serving_rows(row: Mapping[str, str]) -> list[Row]:
    """The time per output token of one line.

    Raises
    ------
    UserError
        Where the system, the model or the numbers cannot be made sense of.
    """
    machine = hardware(row.get("system") or "")
    model = row.get("model_path") or ""
    outline = find_outline(model)
    seconds = number(row, "silicon_tpot_ms")
    batch = number(row, "batch_size")
    if seconds is None or batch is None:
        raise UserError("silicon_tpot_ms and batch_size are needed")
    dense, expert = (row.get("gemm_quant_mode") or "").strip(), (row.get("moe_quant_mode") or "").strip()
    precision = (row.get("precision") or "").strip()
    dense = dense or (precision if precision in BITS else "")
    expert = expert or dense
    if "gpt-oss" in outline.name:
        expert, dense = "nvfp4", ""  # its experts are stored in four bits whatever the label says
    bits, expert_bits = BITS.get(dense, 16.0), BITS.get(expert, 16.0)
    size = (outline.fixed * bits + outline.expert_weights * expert_bits) / 8
    count, copies, expert_parallel = _layout(row, outline, size, machine)
    case = Serving(
        outline=outline,
        storage=Storage(expert or "bf16", expert_bits, expert or "bf16"),
        bits=bits,
        expert_bits=expert_bits,
        machine=machine,
        runtime=runtime_of(row.get("backend") or "vllm", machine),
        count=count,
        batch=batch * copies,
        input=number(row, "isl") or 1024.0,
        output=number(row, "osl") or 1024.0,
        dense_mode=dense,
        expert_mode=expert,
        sparse=re.search(r"glm-?5|v3\.2", model.lower()) is not None,
        version=".".join((row.get("backend_version") or "").split(".")[:2]),
        copies=copies,
        expert_parallel=expert_parallel,
    )
    labels = {
        "device": machine.name,
        "model": outline.name,
        "runtime": case.runtime,
        "quantisation": expert or "bf16",
        "device family": case.family,
        "backend": case.runtime,
        "source": f"{outline.name}, {machine.name}, {case.runtime} {case.version}",
    }
    target = "serving TPOT, MoE" if outline.is_mixture else "serving TPOT, dense"
    return [Row(row["id"], target, case, seconds / 1e3, "A", labels)]


def _layout(row: Mapping[str, str], outline: Outline, size: float, machine: Machine) -> tuple[int, int, int]:
    """Devices, replicas of the attention, and over how many devices experts are divided.

    ``batch_size`` is that of one attention replica. Where the same devices divide tensors and experts, some
    files count them twice (tp 64, moe tp 8, moe ep 8 stands beside the same measurement with tp 8, ep 8).
    """
    tensor = int(number(row, "tp_size", zero=True) or 1)
    stated = number(row, "attention_dp_size", zero=True)
    copies = int(stated or 1)
    expert_tensor = int(number(row, "moe_tp_size", zero=True) or 1)
    expert_parallel = int(number(row, "moe_ep_size", zero=True) or 1)
    experts = expert_tensor * expert_parallel if outline.is_mixture else 1
    fits = machine.memory is None or size < 0.95 * machine.memory.value * expert_tensor
    if stated and expert_tensor == expert_parallel > 1 and experts in (tensor, copies) and fits:
        return expert_tensor, expert_tensor if copies > 1 else 1, expert_tensor
    fits = machine.memory is None or size < 0.95 * machine.memory.value * tensor
    if stated and tensor == copies > 1 and expert_parallel == tensor * copies and fits:
        return tensor, copies, tensor
    count = max(tensor * copies if copies > 1 else tensor, experts, copies)
    if not stated and outline.is_mixture and experts > tensor:
        copies = experts // tensor
    return count, min(copies, count), expert_parallel
