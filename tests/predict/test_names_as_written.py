"""A hundred names as files and people write them, each with the entry that the maker's own naming means."""

import pytest

from whygpu import predict
from whygpu.engine import Basis, UserError
from whygpu.models.lookup import find_outline
from whygpu.predict.measurements import parse_measurements
from whygpu.predict.quants import storage
from whygpu.predict.read_serving import serving_rows
from whygpu.predict.serving import Serving

NAMES = (
    ("RTX 4060", "GeForce RTX 4060"),
    ("RTX 4060 Ti", "GeForce RTX 4060 Ti 8 GB"),
    ("RTX 4060 Ti 16GB", "GeForce RTX 4060 Ti 16GB"),
    ("NVIDIA GeForce RTX 4060 Laptop GPU", "GeForce RTX 4060 Mobile"),
    ("RTX 4070 Mobile", "GeForce RTX 4070 Mobile"),
    ("GeForce RTX 4070 SUPER", "GeForce RTX 4070 SUPER"),
    ("RTX 4070 Ti Super", "GeForce RTX 4070 Ti Super"),
    ("RTX 4080 Super", "GeForce RTX 4080 SUPER"),
    ("RTX 4090 Laptop GPU", "GeForce RTX 4090 Mobile"),
    ("4090D", "GeForce RTX 4090 D"),
    ("RTX-4090", "GeForce RTX 4090"),
    ("RTX 3050 6GB", "GeForce RTX 3050 6 GB"),
    ("NVIDIA GeForce RTX 3050 Ti Laptop GPU", "GeForce RTX 3050 Ti Mobile"),
    ("RTX 3060 8GB", "GeForce RTX 3060 8 GB"),
    ("RTX3060Ti", "GeForce RTX 3060 Ti"),
    ("RTX 3080 10GB", "GeForce RTX 3080"),
    ("RTX 3080 12GB", "GeForce RTX 3080 12 GB"),
    ("RTX 3090 Ti", "GeForce RTX 3090 Ti"),
    ("RTX 5060 Ti 8GB", "GeForce RTX 5060 Ti 8 GB"),
    ("5070 Ti", "GeForce RTX 5070 Ti"),
    ("RTX 5090 Laptop", "GeForce RTX 5090 Mobile"),
    ("RTX 2060 Super", "GeForce RTX 2060 SUPER"),
    ("2080ti", "GeForce RTX 2080 Ti"),
    ("GTX 1060 3GB", "GeForce GTX 1060 3 GB"),
    ("GTX 1080Ti", "GeForce GTX 1080 Ti"),
    ("GTX 1650 Super", "GeForce GTX 1650 SUPER"),
    ("TITAN X (Pascal)", "TITAN X Pascal"),
    ("Titan RTX", "TITAN RTX"),
    ("Tesla P100-PCIE-16GB", "Tesla P100 PCIe 16 GB"),
    ("Tesla V100-SXM2-32GB", "Tesla V100 SXM2 32GB"),
    ("V100 PCIe", "Tesla V100 PCIe 16 GB"),
    ("V100S", "Tesla V100S PCIe 32 GB"),
    ("A16", "A16 PCIe"),
    ("Apple A16", "A16 Bionic"),
    ("A10", "A10"),
    ("NVIDIA A10G 24GB", "A10G"),
    ("AWS g5.xlarge (A10G)", "A10G"),
    ("g4dn.xlarge", "T4"),
    ("p4d.24xlarge", "A100 SXM4 40GB"),
    ("A100-SXM4-40GB", "A100 SXM4 40GB"),
    ("NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB"),
    ("A6000", "RTX A6000"),
    ("RTX A2000 12GB", "RTX A2000 12 GB"),
    ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
    ("RTX 4000 SFF Ada", "RTX 4000 SFF Ada Generation"),
    ("Quadro RTX 6000", "Quadro RTX 6000"),
    ("RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell"),
    ("RTX PRO 4000 Blackwell", "RTX PRO 4000 Blackwell"),
    ("L4", "L4"),
    ("L40", "L40"),
    ("L40S", "L40S"),
    ("H100 80GB HBM3", "H100 SXM5 80GB"),
    ("H100 PCIe", "H100 PCIe 80GB"),
    ("H100 NVL 94GB", "H100 NVL 94 GB"),
    ("H200 NVL", "H200 NVL"),
    ("H20", "H20"),
    ("NVIDIA GB10", "DGX Spark (GB10)"),
    ("Jetson Orin NX 16GB", "Jetson Orin NX 16 GB"),
    ("Jetson Orin Nano Super", "Jetson Orin Nano Super"),
    ("RX 6600 XT", "Radeon RX 6600 XT"),
    ("RX 6600", "Radeon RX 6600"),
    ("RX 6750 XT", "Radeon RX 6750 XT"),
    ("RX 7600 XT", "Radeon RX 7600 XT"),
    ("RX 7900 GRE", "Radeon RX 7900 GRE"),
    ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
    ("RX 9070", "Radeon RX 9070"),
    ("RX 9070 XT", "Radeon RX 9070 XT"),
    ("Vega 64", "Radeon RX Vega 64"),
    ("Radeon VII", "Radeon VII"),
    ("Radeon Pro VII", "Radeon Pro VII"),
    ("MI50 32GB", "Instinct MI50 32GB"),
    ("MI210", "Instinct MI210"),
    ("MI300A", "Radeon Instinct MI300A"),
    ("AMD Instinct MI300X", "Instinct MI300X"),
    ("Ryzen AI 9 HX 370 (Radeon 890M)", "Radeon 890M (Ryzen AI 9 HX 370)"),
    ("AMD Ryzen AI MAX+ 395 w/ Radeon 8060S", "Ryzen AI Max+ 395 (Strix Halo)"),
    ("Framework Desktop 128GB", "Ryzen AI Max+ 395 (Strix Halo)"),
    ("Ryzen AI Max 385", "Radeon 8050S (Ryzen AI Max 390)"),
    ("Arc A770 16GB", "Arc A770 16GB"),
    ("Arc B570", "Arc B570"),
    ("Arc Pro B60", "Arc Pro B60"),
    ("Intel Gaudi 3 HL-325L", "Gaudi3"),
    ("Google TPU v5e", "TPU v5e"),
    ("TPU v5p", "TPU v5p"),
    ("M1 Pro 14-core", "M1 Pro (14-core GPU)"),
    ("M1 Max 24-core", "M1 Max (24-core GPU)"),
    ("MacBook Air M2 (10-core GPU)", "M2"),
    ("M2 8-core GPU", "M2 (8-core GPU)"),
    ("M2 Ultra 60-core", "M2 Ultra (60-core GPU)"),
    ("MacBook Pro M3 Max 128GB", "M3 Max"),
    ("M3 Max 30-core", "M3 Max (30-core GPU)"),
    ("Mac Studio M3 Ultra", "M3 Ultra"),
    ("Mac mini M4", "M4"),
    ("M4 Max 32-core", "M4 Max (32-core GPU)"),
    ("Apple M5 Max (40-core GPU)", "M5 Max"),
    ("iPad Pro M4", "M4"),
    ("iPhone 15 Pro", "A17 Pro"),
    ("iPhone 16 Pro", "A18 Pro"),
    ("Snapdragon X Elite X1E-80-100", "Snapdragon X Elite"),
    ("Google Pixel 8 Pro", "Tensor G3"),
    ("Galaxy S24 Ultra", "Snapdragon 8 Gen 3"),
    ("Orange Pi 5 Plus (RK3588)", "RK3588"),
    ("Orange Pi 5", "RK3588"),
    ("Raspberry Pi 4 8GB", "Raspberry Pi 4B (BCM2711)"),
    ("AMD Ryzen 9 9950X 16-Core Processor", "Ryzen 9 9950X"),
    ("Ryzen 7 7800X3D", "Ryzen 7 7800X3D"),
    ("Threadripper PRO 7995WX", "Threadripper PRO 7995WX"),
    ("EPYC 9374F", "EPYC 9374F"),
    ("Intel Core i7-12700H", "Core i7-12700H"),
    ("Core Ultra 7 155H", "Core Ultra 7 155H"),
    ("Xeon w9-3495X", "Xeon w9-3495X"),
    ("AWS Graviton3", "Graviton3"),
    ("Ampere Altra Max", "Altra Max M128-30"),
)


def test_there_are_a_hundred() -> None:
    assert len(dict(NAMES)) >= 100


@pytest.mark.parametrize(("typed", "entry"), NAMES)
def test_the_entry_that_is_meant(typed: str, entry: str) -> None:
    assert predict.hardware(typed).name == entry


@pytest.mark.parametrize(
    "typed",
    ["Groq LPU", "Hailo-10H", "Tenstorrent Wormhole n300", "iPhone", "RTX 4095", "MI999X"],
)
def test_no_wrong_machine_for_one_that_is_unknown(typed: str) -> None:
    with pytest.raises(UserError, match="hardware"):
        predict.hardware(typed)


@pytest.mark.parametrize(
    ("label", "name"),  # llama.cpp: llm_type_name and architecture names; Hugging Face ids; Ollama tags
    [
        ("llama 7B mostly Q4_0", "llama-7b"),
        ("llama 7B v2 Q4_0", "llama-2-7b"),
        ("llama 8B Q4_K - Medium", "llama-3.1-8b"),
        ("llama 3B Q4_K - Medium", "llama-3.2-3b"),
        ("llama 8x7B Q4_K - Medium", "mixtral-8x7b"),
        ("llama4 17Bx16E (Scout)", "llama-4-scout"),
        ("qwen3moe 30B.A3B Q4_K - Medium", "qwen3-30b-a3b"),
        ("qwen2 7B Q8_0", "qwen2.5-7b"),
        ("gemma3 4B", "gemma-3-4b"),
        ("gemma3 27B Q8_0", "gemma-3-27b"),
        ("phi3 3B Q4_0", "phi-3-mini"),
        ("deepseek2 16B Q4_K - Medium", "deepseek-v2-lite"),
        ("deepseek2 671B Q4_K", "deepseek-v3"),
        ("glm4moe 106B.A12B Q4_K", "glm-4.5-air"),
        ("gpt-oss 20B MXFP4 MoE", "gpt-oss-20b"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"),
        ("CohereForAI/c4ai-command-r-plus", "command-r-plus"),
        ("qwen2.5-coder:7b-instruct-q4_K_M", "qwen2.5-7b"),
        ("gemma3:4b-it-qat", "gemma-3-4b"),
    ],
)
def test_models_as_runtimes_name_them(label: str, name: str) -> None:
    assert find_outline(label).name == name


@pytest.mark.parametrize(
    ("label", "parameters", "total", "active"),
    [
        ("acme/Bar-30B-A3B", None, 30, 3),
        ("mystery 8x7B", None, 47, 13),
        ("stablelm-2-1_6b", None, 1.6, 1.6),
        ("mystery", 7e9, 7, 7),
        ("unheard-of-moe A2B", 16e9, 16, 2),
    ],
)
def test_a_size_serves_where_the_name_does_not(
    label: str, parameters: float | None, total: float, active: float
) -> None:
    found = find_outline(label, parameters=parameters)
    assert found.parameters / 1e9 == pytest.approx(total, rel=0.05)
    assert found.active / 1e9 == pytest.approx(active, rel=0.12)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("Q4_K - Medium", 4.89),
        ("Q4_0_4_4", 4.5),
        ("nf4", 4.4),
        ("q4f16_1", 4.5),
        ("1.58-bit", 1.58),
        ("W8A8", 8.25),
    ],
)
def test_storage_as_files_say_it(name: str, bits: float) -> None:
    assert storage(name).bits == bits


HIDDEN = """device,model,backend,quant,device_count,prefill_tok_s,decode_tok_s,prompt_tokens,extra,notes
RTX 4060 Laptop GPU,llama 7B Q4_0,CUDA,Q4_0,1,"1,500.2",45 ± 0.3,512,x,
2x RTX 3090,llama 70B Q4_K - Medium,llama.cpp,Q4_K - Medium,,300,16,512,x,
RTX 3090 x2,llama 70B,llama.cpp,,1,,~16,,x,
RTX 3090,qwen3moe 30B.A3B Q4_K - Medium,,,2.0,2500,140,512,,
Ryzen 7 8845HS (780M),llama 8B,Vulkan,Q4_K_M,1,180,14,512,,
TPU v5e,Llama-2-7B,JAX,bf16,1,n/a,50,,,
A10G,mistralai/Mistral-7B-Instruct-v0.2,TGI,AWQ,1,,60,,,
Foo 9000,Llama 8B,x,Q4,1,,3,,,
Tesla T4,Mystery,ollama,,1,,3,,,
"""


def test_files_with_other_columns_and_empty_cells() -> None:
    found = parse_measurements(HIDDEN, "hidden.csv")
    assert [name for name, _ in found.unresolved] == ["line 9", "line 10"]
    decoded = {row.id: row.case for row in found.rows if row.target == "decode"}
    assert [case.count for case in decoded.values()] == [1, 2, 2, 2, 1, 1, 1]
    assert decoded["line 6"].machine.name.startswith("Radeon 780M")
    assert decoded["line 4"].storage.name == "Q4_K_M"  # llama.cpp's custom where nobody says
    assert decoded["line 2"].machine.name == "GeForce RTX 4060 Mobile"


SERVED = {
    "id": "a", "system": "h200_sxm", "model_path": "deepseek-ai/DeepSeek-R1", "backend": "trtllm",
    "precision": "fp8",
    "gemm_quant_mode": "fp8", "moe_quant_mode": "fp8", "isl": "1024", "osl": "1024", "batch_size": "4",
    "silicon_tpot_ms": "8.58",
}  # fmt: skip


def test_a_layout_that_counts_its_devices_twice() -> None:
    """Two lines of serving.csv are one measurement: 8 devices, written as tp 8 x ep 8 and as ep 8."""

    def layout(**columns: str) -> tuple[int, int, int, float]:
        case = serving_rows({**SERVED, **columns})[0].case
        assert isinstance(case, Serving)
        return case.count, case.copies, case.expert_parallel, case.batch

    once = {"tp_size": "8", "attention_dp_size": "1", "moe_tp_size": "1", "moe_ep_size": "8"}
    twice = {"tp_size": "64", "attention_dp_size": "1", "moe_tp_size": "8", "moe_ep_size": "8"}
    assert layout(**once) == layout(**twice) == (8, 1, 8, 4)
    replicas = {"tp_size": "1", "attention_dp_size": "8", "moe_tp_size": "1", "moe_ep_size": "8"}
    assert layout(**replicas) == (8, 8, 8, 32)  # a batch for each replica of the attention


def test_prompts_come_between_other_replies() -> None:
    """One user alone is never interrupted; many with long prompts are at every step."""
    case = serving_rows({**SERVED, "batch_size": "1", "tp_size": "8"})[0].case
    assert isinstance(case, Serving)
    assert case.prompted[0] == 0
    many = serving_rows({**SERVED, "batch_size": "128", "tp_size": "8", "isl": "8192", "osl": "64"})[0].case
    assert isinstance(many, Serving)
    assert many.prompted[0] == 1


def test_what_nobody_read_again_is_assumed() -> None:
    assert predict.hardware("Ryzen 7 7800X3D").bandwidth.basis is Basis.ASSUMED
    assert predict.hardware("M2 Max 30-core").bandwidth.basis is Basis.PUBLISHED


def test_half_precision_that_is_slower_than_single_is_not_used() -> None:
    """GTX 1080 Ti: 0.177 TFLOPS in fp16, 11.34 in fp32 (hardware.csv): runtimes then multiply in fp32."""
    result = predict.inference("llama-3-8b", "GTX 1080 Ti")
    assert result.ridge == pytest.approx(11.34e12 / 484.4e9, rel=0.01)
