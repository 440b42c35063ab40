"""Chat templates: what transformers renders, and nothing that a hostile one asks for."""

import json
import time
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

import originals
from whygpu.engine import UserError
from whygpu.think.sandbox import render

USER = {"role": "user", "content": "  Why do LLMs need GPUs? 为什么 <b>&\"'\n"}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one": [USER],
    "system": [{"role": "system", "content": "Be brief."}, USER],
    "history": [
        {"role": "system", "content": "Be brief.\n"},
        USER,
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nThey multiply.  "},
        {"role": "user", "content": "And?"},
    ],
    "said": [USER, {"role": "assistant", "content": "They multiply."}],
}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

TEMPLATES = {  # written for this test, each with what a family's template uses
    "chatml": """{% for message in messages %}
    {% if loop.first and message['role'] != 'system' %}
{{ '<|im_start|>system\\nBe kind.<|im_end|>\\n' }}
    {% endif %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "inst": """{%- if messages[0].role == 'system' -%}
    {%- set system, turns = messages[0].content, messages[1:] -%}
{%- else -%}
    {%- set system, turns = false, messages -%}
{%- endif -%}
{{- bos_token }}
{%- for turn in turns %}
    {%- if (turn.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('no turns') }}{% endif %}
    {%- if turn.role == 'user' %}
        {%- set words = '<<SYS>>\\n' ~ system | trim ~ '\\n<</SYS>>\\n\\n' ~ turn.content
            if loop.index0 == 0 and system != false else turn.content %}
        {{- ' [INST] ' ~ words.strip() ~ ' [/INST]' }}
    {%- elif turn.role == 'assistant' %}{{ ' ' + turn['content'] | trim + eos_token }}{% endif %}
{%- endfor %}""",
    "reversed": """{%- set ns = namespace(last=-1, seen=[]) %}
{%- for m in messages[::-1] %}{% set ns.seen = ns.seen + [m.role] %}
    {%- if m.role == 'user' and ns.last < 0 %}{% set ns.last = loop.revindex0 %}{% endif %}
{%- endfor %}{{ ns.seen | join('/') }} {{ ns.last }}
{% macro turn(m, tag='t') -%}
 <{{ tag }}>{{ m.content.split('</think>')[-1].lstrip('\\n') }}</{{ tag }}>
{%- endmacro %}
{% for m in messages if m.role != 'system' %}{{ loop.length }}{{ turn(m, tag=loop.cycle('a', 'b')) }}
{% generation %}{{ loop.previtem.role if loop.previtem is defined }}{% endgeneration %}
{% if loop.index > 2 %}{% break %}{% endif %}{% endfor %}""",
    "json": """{{ messages | tojson }} {{ messages[0] | tojson(indent=2) }}
{{ {'b': [1, 2.5, none, true], 'a': 'ü<>&'} | tojson(sort_keys=true, separators=(',', ':')) | safe }}
{% for key, value in messages[0].items() %}
{{ key }}={{ value | length }}{{ ', ' if not loop.last }}{% endfor %}
{% for key, value in messages[0] | dictsort %}{{ key | upper | indent(2) }};{% endfor %}""",
    "tests": """{{ tools is none }}{{ messages[0].content is string }}{{ messages is iterable }}
{{ nothing is defined }}{{ messages[0] is mapping }}{{ 'x' in ['x', 'y'] and ('a', 'b') == ('a', 'b') }}
{{ messages | map(attribute='role') | unique | list }}
{{ messages | selectattr('role', 'equalto', 'user') | list | count }}
{{ (messages | last)['content'][:4] }} {{ 7 // 2 }} {{ '%d'|length }}
{{ [3, 1, 2] | sort | first }} {{ 'a b' | title }}
{%- filter upper %} loud {{ messages[0].role }}{% endfilter %}
{%- set block %}  kept {{ bos_token }} {% endset %}{{ block }}{% macro mac() %}{{ caller('c') }}{% endmacro %}
{%- call(x) mac() %}{{ x }}{% endcall %}""",
    "date": "{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y') }}",
}


def transformers_renders(template: str, messages: list[dict[str, Any]], answer: bool) -> str | None:
    """None where it refuses."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE()), **SPECIAL)
    try:
        return tokenizer.apply_chat_template(
            messages, chat_template=template, tokenize=False, add_generation_prompt=answer
        )
    except Exception:
        return None


def ours(template: str, messages: list[dict[str, Any]], answer: bool) -> str | None:
    values = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": answer}
    try:
        return render(template, values | SPECIAL, "t")
    except UserError:
        return None


def compare(template: str) -> None:
    rendered = 0
    for messages in CONVERSATIONS.values():
        for answer in (True, False):
            expected = transformers_renders(template, messages, answer)
            assert ours(template, messages, answer) == expected
            rendered += expected is not None
    assert rendered


@pytest.mark.parametrize("name", TEMPLATES)
def test_own_templates_are_rendered_as_by_transformers(name: str) -> None:
    compare(TEMPLATES[name])


@pytest.mark.network
@pytest.mark.parametrize("family", ["llama3.1", "qwen3", "gemma3"])
def test_the_families_own_templates_are_rendered_as_by_transformers(family: str) -> None:
    config = json.loads((originals.files(family) / "tokenizer_config.json").read_text("utf-8"))
    compare(config["chat_template"])


def test_tools_are_rendered_as_by_transformers() -> None:
    template = "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{{ tools | tojson(indent=4) }}"
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"ä": [1, None, True]}}}]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE()))
    expected = tokenizer.apply_chat_template([USER], tools=tools, chat_template=template, tokenize=False)
    assert render(template, {"messages": [USER], "tools": tools}, "t") == expected


def test_a_long_conversation_is_within_the_budget() -> None:
    turns = [{"role": ("user", "assistant")[i % 2], "content": "word " * 150} for i in range(600)]
    text = ours(TEMPLATES["chatml"], turns, True)
    assert text is not None
    assert text.count("<|im_start|>") == 602


def test_a_refusal_says_what_the_template_says() -> None:
    with pytest.raises(UserError, match=r"^f: the chat template refuses this conversation: no turns$"):
        render(TEMPLATES["inst"], {"messages": CONVERSATIONS["said"][1:], **SPECIAL}, "f")
    with pytest.raises(UserError, match=r"conversation: a b$"):
        render("{{ raise_exception('a\\n\\nb') }}", {}, "f")


NESTED = (
    "{% set ns = namespace(a=(1,), b=(1,)) %}{% for i in range(70) %}"
    "{% set ns.a = (ns.a, ns.a) %}{% set ns.b = (ns.b, ns.b) %}{% endfor %}"
)
HOSTILE = {
    "literal text in a loop": "{% for i in range(99999) %}" + "x" * 60_000 + "{% endfor %}",
    "constant text in a loop": "{% for i in range(99999) %}{{ '" + "x" * 60_000 + "' }}{% endfor %}",
    "text in a block": "{% set a %}{% for i in range(99999) %}" + "x" * 60_000 + "{% endfor %}{% endset %}",
    "text in a macro": "{% macro m() %}" + "x" * 60_000 + "{% endmacro %}"
    "{% set ns = namespace(a=[]) %}{% for i in range(99999) %}{% set ns.a = [ns.a, m()] %}{% endfor %}",
    "a generator joined": "{{ range(99999) | map('string') | join('a' * 1000000) }}",
    "a generator joined by a method": "{{ ('a' * 1000000).join(range(99999) | map('string')) }}",
    "a generator listed": "{% set big = 'a' * 1000000 %}"
    "{{ range(99999) | map('string') | map('replace', '', big) | list | length }}",
    "compared": NESTED + "{{ ns.a == ns.b }}",
    "hashed": NESTED + "{{ {ns.a: 1} }}",
    "looked up": NESTED + "{{ messages[0].get(ns.a) }}",
    "namespaces in namespaces": "{% set ns = namespace(a=0) %}{% for i in range(70) %}"
    "{% set ns.a = namespace(a=[ns.a, ns.a]) %}{% endfor %}{{ ns.a }}",
    "a namespace in itself": "{% set ns = namespace(a=0) %}{% set ns.a = [ns, ns] %}{{ ns }}",
    "a sum of lists": "{{ range(99999) | map('string') | map('list') | sum(start=[]) }}",
    "JSON with a wide indent": "{% set ns = namespace(a=[1] * 1000) %}{% for i in range(900) %}"
    "{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a | tojson(indent=16) }}",
    "JSON with long separators": "{{ range(9999) | list | tojson(separators=('x' * 100000, ':')) }}",
    "a wide date": "{{ strftime_now('%999999999d') }}",
    "meters redefined": "{% set count_turns = range %}{% set count_text = range %}"
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "indented": "{{ ('\n' * 100000) | indent(100000) }}",
    "globals of a filter": "{{ (messages | map).gi_frame.f_globals }}",
    "globals of a macro": "{% macro m() %}{% endmacro %}{{ m.__globals__ }}{{ m._func.__globals__ }}",
    "the environment": "{{ self._TemplateReference__context.environment }}",
    "a class by a filter": "{{ messages | map(attribute='__class__') | list }}{{ ''|attr('__class__') }}",
    "the date's function": "{{ strftime_now.__globals__ }}{{ raise_exception.__globals__ }}",
    "deep": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep statements": "{% if 1 %}" * 2000 + "{% endif %}" * 2000,
    "deep operators": "{{ 1" + " + 1" * 15000 + " }}",
    "endless macro": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "included": "{% extends '/etc/passwd' %}",
    "unknown filter": "{{ 'a' | pprint }}",
    "unknown tag": "{% do messages.append(1) %}",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_templates_get_one_line_soon(case: str) -> None:
    started = time.perf_counter()
    with pytest.raises(UserError, match=r"^file: ") as caught:
        text = render(HOSTILE[case], {"messages": [USER]}, "file")
        assert not text.strip("[]<>, ")  # an attribute that is not there prints nothing
        raise UserError("file: printed nothing")
    assert "\n" not in str(caught.value)
    assert time.perf_counter() - started < 4.0


def test_hostile_templates_stay_in_memory(memory_limited: Any) -> None:
    """All of them in one process that may grow by 400 MB."""
    program = f"""
import json, sys
sys.path.insert(0, {str(originals.HERE.parent / "think")!r})
sys.path.insert(0, {str(originals.HERE.parent)!r})
from whygpu.engine import UserError
from whygpu.think.sandbox import render
cases = json.loads(sys.stdin.read())
limit(400)
for name, template in cases.items():
    try:
        render(template, {{"messages": [{{"role": "user", "content": "hi"}}]}}, "file")
    except UserError as error:
        assert "MemoryError" not in str(error), (name, str(error))
"""
    memory_limited(program, json.dumps(HOSTILE))
