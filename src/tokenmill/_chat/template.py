"""A chat template -> compiled, in the sandbox that `transformers` renders it in.

The code generator writes constants and text of the template as `MarkedText`, so that the result
knows which of its characters come from there; marked.py explains what happens to them on the way.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from tokenmill._chat.marked import (
    MarkedText,
    add_marked,
    join_marked,
    join_output,
    trusted_text,
)
from tokenmill._errors import ChatError, MissingDependency

try:
    import jinja2
    from jinja2 import ext, nodes, utils
    from jinja2.compiler import CodeGenerator
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    raise MissingDependency(
        "chat templates need this package, which is not installed",
        name="jinja2",
        hint="pip install 'tokenmill[chat]'",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping

    from jinja2.compiler import Frame
    from jinja2.parser import Parser

_SAFE_SINCE = (3, 1, 6)  # older releases let a template out of the sandbox
_OF_DICTS = frozenset(dir(dict))
_OF_LOOPS = frozenset(name for name in dir(LoopContext) if not name.startswith("_"))
# Methods and filters of a text that can put another one into it, with the trust of that.
_INSERTING = ("replace", "join")


class _MarkingGenerator(CodeGenerator):
    """Writes code in which text of the template is trusted.

    Each text is a constant of the module that is generated, made when that is loaded. Texts that
    are only compared, and names of members, are plain: they never reach the output.
    """

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        self._texts: dict[str, str] = {}
        self._plain: set[nodes.Node] = set()
        self._put_out: set[nodes.Node] = set()  # sums that are joined with the rest of the output
        super().visit_Template(node, frame)
        for text, name in self._texts.items():
            self.writeline(f"{name} = environment.trusted({text})")

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        value = node.as_const(frame.eval_ctx)
        if isinstance(value, str) and node not in self._plain:
            self.write(self._constant(repr(value)))
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: N802
        self.write(self._constant(repr(node.data)))

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        self._plain.update((node.expr, *(operand.expr for operand in node.ops)))
        super().visit_Compare(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        self._plain.add(node.arg)
        super().visit_Getitem(node, frame)

    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:  # noqa: N802
        parts: list[nodes.Expr] = [node.right]
        left: nodes.Expr = node.left
        while isinstance(left, nodes.Add):
            parts.append(left.right)
            left = left.left
        name = "" if node in self._put_out else "environment.add"
        self._call(name, [left, *reversed(parts)], frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.join(map(str, ")
        self._call("", node.nodes, frame)
        self.write("))")

    def _call(self, name: str, arguments: Iterable[nodes.Expr], frame: Frame) -> None:
        """Write a call, or without a name a tuple."""
        self.write(f"{name}(")
        for argument in arguments:
            self.visit(argument, frame)
            self.write(", ")
        self.write(")")

    def _constant(self, text: str) -> str:
        return self._texts.setdefault(text, f"text_{len(self._texts)}")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if _is_text(node):
            self._put_out.add(node)
        else:
            super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if not _is_text(node):
            super()._output_child_post(node, frame, finalize)

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return self._constant(super()._output_const_repr(group))


def _is_text(node: nodes.Node) -> bool:
    """Whether the value of an expression can only be a text: it is one plus something."""
    while isinstance(node, nodes.Add):
        node = node.left
        if isinstance(node, nodes.Const):
            return isinstance(node.value, str)
    return False


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
    concat = staticmethod(join_output)
    join = staticmethod(join_marked)
    add = staticmethod(add_marked)
    trusted = staticmethod(trusted_text)

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

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return a dict: jinja2's chain of two is copied for each rendering, in 4 us."""
        return {**self.globals, **(d or {})}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a member of a message, or what a loop knows, without a look at its safety.

        For all else ask the sandbox; it would give the same for these, by way of an exception.
        """
        if type(obj) is dict and attribute not in _OF_DICTS:
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if type(obj) is LoopContext and attribute in _OF_LOOPS:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)


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
        self.inserts = any(word in source for word in _INSERTING)  # texts into texts of callers
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
