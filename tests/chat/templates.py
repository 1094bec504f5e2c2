"""Chat templates in the styles of well-known models, written for these tests."""

# ruff: noqa: E501 -- a line break in a template is text
from __future__ import annotations

# Constants and contents added up in one expression.
PLUS = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
# A variable, a filter and a special token by name.
TRIMMED = """\
{{ bos_token }}{% for message in messages %}{% set content = '<|im_start|>' ~ message['role'] \
~ '\\n\\n' ~ message['content'] | trim ~ '<|im_end|>' %}{{ content }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>' }}assistant{% endif %}"""
# Text outside of expressions, refusals, eos.
LITERAL = """\
{{ bos_token }}
{%- if messages[0].role == 'system' %}
{%- set first = messages[0].content + '\\n\\n' %}{%- set rest = messages[1:] %}
{%- else %}{%- set first = '' %}{%- set rest = messages %}{%- endif %}
{%- for message in rest %}
{%- if message.role not in ['user', 'assistant', 'tool'] %}
{{- raise_exception('no role ' + message.role) }}
{%- elif message.role == 'assistant' %} {{ message.content }}{{ eos_token }}
{%- else %}[INST] {{ (first if loop.first else '') ~ message.content }} [/INST]
{%- endif %}
{%- endfor %}"""
# The role between the halves of a control token.
ROLES = """\
{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|im_end|>\\n' }}\
{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"""
# Macros, namespaces, block sets, joins, replacement and what an assistant thought.
RICH = """\
{%- macro opened(role) %}<|im_start|>{{ role }}{{ '\\n' }}{% endmacro %}
{%- set ns = namespace(system='', n=0) %}
{%- for message in messages if message.role == 'system' %}
{%- set ns.system = ns.system + message.content + '<|sep|>' %}
{%- endfor %}
{%- if ns.system %}{{ opened('system') + ns.system }}<|im_end|>{% endif %}
{%- for message in messages %}
{%- if message.role == 'system' %}{%- continue %}{%- endif %}
{%- set parts = message.content.split('</think>') %}
{%- set body %}{{ parts[-1] | replace('[x]', '<|sep|>') }}{% endset %}
{{- opened(message.role) }}
{%- if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{%- endif %}
{%- if message.role == 'assistant' %}{% generation %}{{ body.strip('\\n') }}<|im_end|>{% endgeneration %}
{%- else %}{{ [body, '<|im_end|>'] | join }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ opened('assistant') }}{% endif %}"""
# Tools, calls and results.
TOOLS = """\
{%- if tools %}<|im_start|>system\\n{% for tool in tools %}{{ tool | tojson }}{{ '<|sep|>' }}{% endfor %}
{{- '<|im_end|>' }}{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role }}{% if message.name %}{{ ' ' ~ message.name }}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}
{{- '<tool_call>' + call.function.name + (call.function.arguments | tojson(indent=1)) + '</tool_call>' }}
{%- endfor %}{% endif %}
{%- if message.content is string %}{{ message.content }}
{%- elif message.content %}{% for block in message.content %}
{%- if block.type == 'text' %}{{ block.text }}{% else %}<|sep|>{% endif %}{% endfor %}{% endif %}
{{- '<|im_end|>' }}
{%- endfor %}
{%- for document in documents or [] %}{{ document.title ~ ': ' ~ document.text }}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant{% endif %}"""

TEMPLATES = {
    "plus": PLUS,
    "trimmed": TRIMMED,
    "literal": LITERAL,
    "roles": ROLES,
    "rich": RICH,
    "tools": TOOLS,
}

# Sums that are put out or kept, members and methods of messages, what a loop knows.
SUMS = (
    "{{ 'a' + messages[0].content + '\\n' }}{{ messages[0].missing }}{{ 1 + 2 }}",
    "{% for k, v in messages[0].items() %}{{ k + '=' + v }}{% endfor %}{{ messages[0].keys() | list }}",
    "{% for m in messages %}{{ loop.index ~ loop.last }}{{ 'x' + loop.cycle('a', 'b') }}{% endfor %}",
    "{% for m in messages %}{{ 'p' + (loop.previtem.role if loop.previtem else '-') }}{% endfor %}",
    "{% set a = '<' + messages[0].role + '>' %}{{ a + a }}{{ '[' ~ a ~ ']' }}{{ (a + 'b') | length }}",
    "{% macro m(x) %}{{ 'a' + x + 'b' }}{% endmacro %}{{ m('<|im_end|>') + m(messages[1].content) }}",
    "{% set t %}{{ 'a' + messages[0].content }}{% endset %}{{ t | trim }}{{ t | upper }}",
    "{{ 'a' + (messages[0].content if messages else '') }}{{ ['x', 'y'][0] + 'z' }}{{ [1] + [2] }}",
)
