"""An outline from a ``config.json``, whatever the family: fields by their many names, nested or not.

What shapes a model and is not known here is an error that names the field; what concerns training, generation
or tools is passed over.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whygpu.engine import UserError
from whygpu.models.outline import Outline, outline_of_figures

__all__ = ["outline_of_config", "outline_of_config_file"]

LARGEST = 8 << 20
NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "text_cfg")
NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "d_model": ("hidden_size", "n_embd", "d_model", "model_dim", "dim", "word_embed_proj_dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "context": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
        "n_ctx",
        "model_max_length",
    ),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "d_ff": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "intermediate_size_mlp", "d_ff"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "experts_used": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "moe_topk",
        "top_k_experts",
        "moe_k",
        "moe_top_k",
        "experts_per_token",
    ),
    "expert_d_ff": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "dense_first": ("first_k_dense_replace",),
    "kv_rank": ("kv_lora_rank",),
    "q_rank": ("q_lora_rank",),
    "nope_dim": ("qk_nope_head_dim",),
    "rope_dim": ("qk_rope_head_dim",),
    "v_dim": ("v_head_dim",),
    "linear_every": ("full_attention_interval",),
    "linear_k_heads": ("linear_num_key_heads",),
    "linear_k_dim": ("linear_key_head_dim",),
    "linear_v_heads": ("linear_num_value_heads",),
    "linear_v_dim": ("linear_value_head_dim",),
    "kv_shared_layers": ("num_kv_shared_layers",),
    "per_layer_d": ("hidden_size_per_layer_input",),
    "per_layer_vocab": ("vocab_size_per_layer_input",),
    "global_head_dim": ("global_head_dim",),
    "global_kv_heads": ("num_global_key_value_heads",),
    "moe_every": ("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq"),
    "window": ("sliding_window", "attention_chunk_size", "sliding_window_size"),
    "global_every": ("sliding_window_pattern", "_sliding_window_pattern"),
}
HANDLED = {name for names in NAMES.values() for name in names} | {
    "layer_types",
    "use_sliding_window",
    "max_window_layers",
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "shared_expert_intermediate_size",
    "shared_intermediate_size",
    "mlp_only_layers",
    "mlp_layer_types",
    "moe_layers",
    "tie_word_embeddings",
    "multi_query",
    "multi_query_attention",
    "new_decoder_architecture",
    "hidden_act",
    "activation_function",
    "hidden_activation",
    "attn_output_gate",
    "use_double_wide_mlp",
    "attention_k_eq_v",
    "linear_conv_kernel_dim",
    "enable_moe_block",
}
_SHAPE = re.compile(
    r"(num_|n_)?(hidden_)?(layers?|heads?|experts?|experts?_.*|vocab_size|hidden_size|d_state|state_size|.*ssm.*|.*mamba.*|.*_rank|.*window.*|.*conv.*dim)$|"
    r"(num|n)_\w*(layers?|heads?|experts?)$"
)
_HARMLESS = re.compile(
    r"nextn|mtp|vision|audio|image|video|router|rope|_token|token_|expert_group|n_group|topk_group|scaling|dropout|bias|norm|init|loss|aux|"
    r"classifier|quant|max_window|no_rope|_attn_|attention_type|layerdrop|layer_idx|laurel|altup|activation_sparsity|index_|indexer|"
    r"ep_size|tp_size|pretraining|summary|proj_layers|head_ratio|position|multiplier|layer_type|first_|sep_|cross|encoder|decoder_start|topk_method|logit|"
    r"conv_kernel|alibi|expert_interval|moe_layer_start|expert_parallel|shared_expert_gate|output_gate"
)
PLAIN_ACTIVATIONS = ("gelu", "relu", "gelu_new", "gelu_fast")
UNGATED = (
    "gpt2",
    "gpt_neox",
    "gptj",
    "gpt_neo",
    "opt",
    "bloom",
    "falcon",
    "mpt",
    "phi",
    "gpt_bigcode",
    "starcoder2",
    "codegen",
    "nemotron",
)


def outline_of_config_file(path: Path) -> Outline:
    """An outline from a ``config.json`` or the folder that holds it.

    Raises
    ------
    UserError
        For a file that is missing, too large or no JSON object, and as ``outline_of_config``.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        if file.stat().st_size > LARGEST:
            raise UserError(f"{file}: larger than {LARGEST >> 20} MiB; this is no config.json")
        values = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        lacks = path.is_dir() and not file.exists()
        raise UserError(
            f"{path}: has no config.json; name a model's folder, a GGUF or safetensors file, or a model"
            if lacks
            else f"{file}: {error.strerror or error}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not a JSON file ({str(error)[:80]})") from error
    if not isinstance(values, dict):
        raise UserError(f"{file}: a JSON object is needed")
    name = str(values.get("_name_or_path") or file.parent.name or file.stem)
    return outline_of_config(values, name.rsplit("/", 1)[-1] or "model", str(file))


def outline_of_config(values: Mapping[str, Any], name: str, where: str) -> Outline:
    """An outline from the fields of a config.

    Raises
    ------
    UserError
        Where a needed field is missing, or one that shapes the model is unknown; the line names it.
    """
    inner = next((values[key] for key in NESTED if isinstance(values.get(key), dict)), None)
    if inner is not None:
        if isinstance(inner.get("text_config"), dict):
            inner = inner["text_config"]
        outer = {key: values[key] for key in ("tie_word_embeddings",) if key in values}
        values = {**outer, **inner}
    for key, value in values.items():
        if (
            key not in HANDLED
            and value not in (None, False, [], {})
            and _SHAPE.match(key)
            and not _HARMLESS.search(key)
        ):
            raise UserError(
                f"{where}: field {key!r} shapes the model and is not known here; its cost cannot be said"
            )
    figures: dict[str, Any] = {}
    for figure, fields in NAMES.items():
        field = next((f for f in fields if values.get(f) is not None), None)
        if field is None:
            continue
        value = values[field]
        if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
            value = round(sum(value) / len(value))
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UserError(f"{where}: {field} is {str(value)[:40]!r}; a whole number from 0 is needed")
        figures[figure] = value
    for figure in ("layers", "d_model", "heads", "vocab"):
        if figure not in figures:
            raise UserError(f"{where}: {NAMES[figure][0]} is missing; it is needed")
    figures.setdefault("context", 2048)
    kind = str(values.get("model_type", ""))
    _settle(figures, values, kind, where)
    return outline_of_figures(name, {**figures, "source": where})


def _settle(f: dict[str, Any], values: Mapping[str, Any], kind: str, where: str) -> None:  # noqa: PLR0912
    """What fields mean together."""
    if f["heads"] < 1:
        raise UserError(f"{where}: {f['heads']} heads; 1 or more are needed")
    f["tied_head"] = bool(
        values.get(
            "tie_word_embeddings",
            kind in ("gpt2", "gemma", "gemma2", "gemma3_text", "gemma3", "bloom", "falcon", "opt", "mpt"),
        )
    )
    f["gated"] = kind not in UNGATED
    if values.get("multi_query") and not values.get("new_decoder_architecture"):
        f["kv_heads"] = 1
    if kind in ("gpt2", "opt", "gpt_bigcode", "gpt_neo"):
        f["positions"] = f["context"]
    if not f.get("d_ff") and not f.get("experts"):
        if f["gated"]:
            raise UserError(f"{where}: intermediate_size is missing; it is needed")
        f["d_ff"] = 4 * f["d_model"]
    if f.get("experts") and (f["experts"] < 2 or values.get("enable_moe_block") is False):
        for key in ("experts", "experts_used", "expert_d_ff", "dense_first", "moe_every"):
            f.pop(key, None)
    if f.get("experts"):
        f.setdefault("expert_d_ff", values.get("intermediate_size", 0))
        if "experts_used" not in f:
            raise UserError(f"{where}: num_experts_per_tok is missing; it is needed")
        shared = (
            values.get("n_shared_experts")
            or values.get("num_shared_experts")
            or values.get("num_shared_expert")
            or 0
        )
        each = values.get("shared_expert_intermediate_size") or values.get("shared_intermediate_size") or 0
        shared = shared[0] if isinstance(shared, list) else shared
        f["shared_d_ff"] = each or int(shared) * f["expert_d_ff"]
        if kind.startswith("llama4"):
            f["shared_d_ff"] = f["expert_d_ff"]
        f["moe_every"] = f.get("moe_every") or 1
        dense = values.get("mlp_only_layers") or ()
        f["dense_layers"] = tuple(i for i in dense if isinstance(i, int))
    else:
        f.pop("moe_every", None)
        f.pop("experts_used", None)
    _windows(f, values)
    f["gated_attention"] = bool(values.get("attn_output_gate", kind.startswith(("qwen3_next", "qwen3_5"))))
    f["same_kv"] = bool(values.get("attention_k_eq_v"))
    f["wide_shared"] = bool(values.get("use_double_wide_mlp"))
    types = values.get("layer_types")
    if isinstance(types, list) and "linear_attention" in types and not f.get("linear_every"):
        full = [i for i, t in enumerate(types) if t == "full_attention"]
        f["linear_every"] = full[0] + 1 if full else f["layers"] + 1
    if "linear_k_heads" not in f:
        f.pop("linear_every", None)


def _windows(f: dict[str, Any], values: Mapping[str, Any]) -> None:
    types = values.get("layer_types")
    if values.get("use_sliding_window") is False or not f.get("window"):
        f.pop("window", None)
        f.pop("global_every", None)
        return
    if isinstance(types, list) and types:
        local = [i for i, t in enumerate(types) if t in ("sliding_attention", "chunked_attention", "local")]
        if not local:
            f.pop("window", None)
            f.pop("global_every", None)
            return
        f["full_layers"] = tuple(i for i in range(f["layers"]) if i not in set(local))
        f.pop("global_every", None)
