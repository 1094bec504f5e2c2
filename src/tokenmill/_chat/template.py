"""A chat template -> compiled, in the sandbox that `transformers` renders it in.

The code generator writes constants and text of the template as `MarkedText`, so that the result
knows which of its characters come from there; marked.py explains what happens to them on the way.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from tokenmill._chat.marked import MarkedText, join_marked, trusted_text
from tokenmill._errors import ChatError, MissingDependency

try:
    import jinja2
    from jinja2 import ext, nodes, utils
    from jinja2.compiler import CodeGenerator
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    raise MissingDependency(
        "chat templates need this package, which is not installed",
        name="jinja2",
        hint="pip install tokenmill[chat]",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jinja2.compiler import Frame
    from jinja2.parser import Parser

_SAFE_SINCE = (3, 1, 6)  # older releases let a template out of the sandbox


class _MarkingGenerator(CodeGenerator):
    """Writes code in which text of the template is trusted."""

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        value = node.as_const(frame.eval_ctx)
        if isinstance(value, str):
            self.write(f"environment.trusted({value!r})")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: N802
        self.write(f"environment.trusted({node.data!r})")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat(map(str, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"environment.trusted({super()._output_const_repr(group)})"


class _Generation(ext.Extension):
    """`{% generation %}`, which marks what an assistant wrote: here it only renders its body."""

    tags = {"generation"}  # noqa: RUF012 -- the interface of jinja2

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    @staticmethod
    def _render(caller: Any) -> str:
        return caller()  # type: ignore[no-any-return]


class _ChatEnvironment(ImmutableSandboxedEnvironment):
    code_generator_class = _MarkingGenerator
    concat = staticmethod(join_marked)
    trusted = staticmethod(lru_cache(maxsize=4096)(trusted_text))

    def __init__(self) -> None:
        # Not optimized: constants inside a folded list would be written as plain text.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, "jinja2.ext.loopcontrols"],
            optimized=False,
        )
        self.filters |= {"tojson": _tojson, "join": _join}
        self.globals |= {
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
            "dict": _TemplateDict(),
            "namespace": _TemplateNamespace,
        }


class ChatTemplate:
    """A compiled template."""

    def __init__(self, source: str) -> None:
        try:
            environment = _environment()
            parsed = environment.parse(source)
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise ChatError(f"the chat template cannot be read: {error}") from error
        texts = {node.data for node in parsed.find_all(nodes.TemplateData)}
        texts |= {n.value for n in parsed.find_all(nodes.Const) if isinstance(n.value, str)}
        self.source = source
        self.literals = "\0".join(sorted(texts))  # the NUL keeps two of them apart in a search

    def render(self, variables: Mapping[str, object]) -> MarkedText:
        """Return the text, which knows what of it the template wrote."""
        try:
            text = self._template.render(variables)
        except Exception as error:  # whatever its expressions raise for what they were given
            raise ChatError(f"the chat template refuses the conversation: {error}") from error
        return text if isinstance(text, MarkedText) else MarkedText(text)


@lru_cache(maxsize=64)
def compile_template(source: str) -> ChatTemplate:
    """Compile a template, once for all calls that use it."""
    return ChatTemplate(source)


@lru_cache(maxsize=1)
def _environment() -> _ChatEnvironment:
    found = tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit())
    if found < _SAFE_SINCE:
        raise MissingDependency(
            f"chat templates need 3.1.6 or later, got {jinja2.__version__}",
            name="jinja2",
            hint="pip install -U jinja2",
        )
    return _ChatEnvironment()


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON as it is, trusted nowhere: jinja2's own filter escapes characters of HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


@jinja2.pass_environment
def _join(
    environment: _ChatEnvironment,
    value: Iterable[Any],
    d: str = "",
    attribute: str | int | None = None,
) -> MarkedText:
    """Join as jinja2 does, and keep the trust of each part."""
    if attribute is not None:
        from jinja2.filters import make_attrgetter

        value = map(make_attrgetter(environment, attribute), value)
    return MarkedText.join(join_marked([str(d)]), map(str, value))


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


class _TemplateDict:
    """What templates see as `dict`: the type itself would lead out of the sandbox."""

    def __call__(self, *args: Any, **more: Any) -> dict[Any, Any]:
        return dict(*args, **more)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a dict with these keys."""
        return dict.fromkeys(*args)


class _TemplateNamespace(utils.Namespace):
    """A namespace without names that begin with an underscore."""

    def __init__(*args: Any, **more: Any) -> None:  # `namespace(self=...)` is allowed
        self, *rest = args
        values = dict(*rest, **more)
        for name in values:
            _check_name(name)
        utils.Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        utils.Namespace.__setitem__(self, name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace cannot hold {name!r}: names that begin with an underscore are not allowed"
        )
