"""`Tokenizer.encode` runs in the core, and to everyone who looks it is the function it was."""

from __future__ import annotations

import copy
import cProfile
import gc
import inspect
import pickle
import pstats
import sys
import threading
import typing
import weakref
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from tokenmill import InvalidUtf8, TextTypeError, Tokenizer, _core

if TYPE_CHECKING:
    from types import FrameType

    from tokenmill._model.ready import Ready

# The function itself: what its attributes belong to.
FUNCTION = typing.cast("Any", Tokenizer).encode.__call__.__self__

TEXTS = ["", "hello world", "h\u00e9llo", "\u0434\u0430", "\U0001f600", "hello</s>", "a" * 20_000]


class Louder(Tokenizer):
    __slots__ = ("more",)

    def encode(self, text: Any, **options: Any) -> Any:
        return super().encode(text.upper(), **options)


def run_by_function(tokenizer: Tokenizer, text: object, **options: Any) -> Any:
    return FUNCTION(tokenizer, text, **options)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("options", [{}, {"add_special_tokens": True}])
def test_a_plain_call_gives_what_the_function_gives(
    small: Tokenizer, text: str, options: dict[str, Any]
) -> None:
    for form in (text, text.encode(), bytearray(text.encode())):
        ids = small.encode(form, **options)
        assert ids.dtype == "uint32"
        assert ids.tolist() == run_by_function(small, form, **options).tolist()


def test_a_plain_call_runs_no_python(small: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FUNCTION, "__code__", (lambda self, text: None).__code__)
    assert small.encode("hello world").tolist()
    assert small.encode("hello", add_special_tokens=False).tolist()
    assert small.encode(b"hello", add_special_tokens=True).tolist()
    assert typing.cast("Any", small.encode(bytearray(b"hello"))) is None  # the long way


def test_options_by_an_expression_are_understood(small: Tokenizer) -> None:
    name = "".join(["add_special", "_tokens"])  # not interned
    options: dict[str, Any] = {name: True}
    assert small.encode("hello", **options).size == small.encode("hello").size + 1


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("options", [{}, {"add_special_tokens": True}, {"errors": "replace"}])
def test_a_text_has_as_many_ids_as_are_counted(
    small: Tokenizer, text: str, options: dict[str, Any]
) -> None:
    count = small.encode(text, **options).size
    assert small.count(text, **options) == count
    assert small.count(text.encode(), **options) == count
    for limit in (0, 1, count, count + 1):
        assert small.count(text, limit, **options) == min(count, limit + 1)


def test_count_refuses_what_encode_refuses(small: Tokenizer) -> None:
    for wrong in (b"ab\xffcd", b"ab\xffcd" * 5_000):
        with pytest.raises(InvalidUtf8) as caught:
            small.count(wrong)
        assert (caught.value.offset, caught.value.document) == (2, None)
    with pytest.raises(TextTypeError):
        small.count(typing.cast("Any", 5))


@pytest.mark.parametrize("wrong", [5, None, ["a"], object()])
def test_what_is_no_text_is_refused_as_before(small: Tokenizer, wrong: Any) -> None:
    with pytest.raises(TextTypeError, match="expected str or bytes-like"):
        small.encode(wrong)


def test_errors_come_from_the_function(small: Tokenizer) -> None:
    with pytest.raises(InvalidUtf8, match="replace") as caught:
        small.encode(b"ab\xffcd")
    assert caught.value.offset == 2
    assert caught.traceback[-1].name == "encode"
    with pytest.raises(InvalidUtf8):
        small.encode("\ud800")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), r"Tokenizer\.encode\(\) missing 1 required positional argument: 'text'"),
        (("a", "b"), r"Tokenizer\.encode\(\) takes 2 positional arguments but 3 were given"),
    ],
)
def test_wrong_calls_say_what_they_said(small: Tokenizer, args: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        small.encode(*args)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'text'"):
        Tokenizer.encode("a")  # type: ignore[call-arg, arg-type]


def test_an_object_of_another_class_runs_the_function() -> None:
    class Other:
        _model = None

        def _encode(self, text: str, _add: bool) -> str:
            return text

    assert Tokenizer.encode(Other(), "hello") == "hello"  # type: ignore[arg-type]


def test_it_looks_like_the_function() -> None:
    method = Tokenizer.encode
    assert inspect.isfunction(method)
    assert isinstance(method, FunctionType)
    assert (method.__name__, method.__qualname__) == ("encode", "Tokenizer.encode")
    assert method.__module__ == "tokenmill._tokenizer.tokenizer"
    assert method.__doc__ == FUNCTION.__doc__
    assert repr(method).startswith("<function Tokenizer.encode at ")
    assert inspect.signature(method) == inspect.signature(FUNCTION)
    assert [*inspect.signature(method).parameters][:2] == ["self", "text"]
    assert "def encode" in inspect.getsource(method)
    assert typing.cast("Any", method).__kwdefaults__["errors"] == "strict"
    assert ("encode", method) in inspect.getmembers(Tokenizer, inspect.isfunction)


def test_it_binds_like_a_function(small: Tokenizer) -> None:
    bound = small.encode
    assert isinstance(bound, MethodType)
    assert bound.__self__ is small
    assert bound.__func__ is Tokenizer.encode
    assert [*inspect.signature(bound).parameters][:2] == ["text", "add_special_tokens"]
    assert bound("hello").tolist() == Tokenizer.encode(small, "hello").tolist()
    assert weakref.WeakMethod(bound)() == bound


def test_it_is_copied_and_pickled_by_name(small: Tokenizer) -> None:
    assert copy.copy(Tokenizer.encode) is Tokenizer.encode
    assert copy.deepcopy(Tokenizer.encode) is Tokenizer.encode
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Tokenizer.encode, protocol)) is Tokenizer.encode  # noqa: S301
    again = pickle.loads(pickle.dumps(small.encode))  # noqa: S301
    assert again("hello").tolist() == small.encode("hello").tolist()


def test_attributes_can_be_set_as_on_a_function() -> None:
    method: Any = Tokenizer.encode
    method.note = "mine"
    assert FUNCTION.note == "mine"
    del method.note
    assert not hasattr(method, "note")


def test_mocks_know_the_signature(small: Tokenizer) -> None:
    fake = mock.create_autospec(Tokenizer, instance=True)
    fake.encode("hello", add_special_tokens=True)
    with pytest.raises(TypeError):
        fake.encode("hello", unknown=True)
    with mock.patch.object(Tokenizer, "encode", autospec=True, return_value=[1]) as replaced:
        assert typing.cast("Any", small.encode("hello")) == [1]
    replaced.assert_called_once_with(small, "hello")
    assert small.encode("hello").dtype == "uint32"


def test_a_subclass_may_override_it(small: Tokenizer) -> None:
    louder = Louder(small.ready)
    assert louder.encode("hello").tolist() == small.encode("HELLO").tolist()
    assert Tokenizer.encode(louder, "hello").tolist() == small.encode("hello").tolist()


def test_a_second_name_for_it_works(small: Tokenizer) -> None:
    class Renamed(Tokenizer):
        __slots__ = ()
        tokenize = Tokenizer.encode

    expected = small.encode("hello").tolist()
    assert Renamed(small.ready).tokenize("hello").tolist() == expected
    assert small.encode("hello").tolist() == expected


def test_a_tokenizer_without_a_model_does_not_crash() -> None:
    with pytest.raises(AttributeError, match="_encode"):
        Tokenizer.__new__(Tokenizer).encode("hello")


def test_profilers_and_tracers_see_it(small: Tokenizer) -> None:
    profile = cProfile.Profile()
    profile.runcall(lambda: small.encode("hello"))
    rows: Any = pstats.Stats(profile)
    assert any(name == "encode" for _, _, name in rows.stats)
    seen = []

    def trace(frame: FrameType, _event: str, _arg: object) -> None:
        seen.append(frame.f_code.co_name)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        small.encode("hello")
    finally:
        sys.settrace(before)
    assert "encode" in seen


def test_many_threads_call_it_at_once(small: Tokenizer) -> None:
    expected = {text: run_by_function(small, text).tolist() for text in TEXTS}
    wrong: list[str] = []

    def work() -> None:
        for _ in range(200):
            wrong.extend(t for t in TEXTS if small.encode(t).tolist() != expected[t])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_calls_leak_no_references(small: Tokenizer) -> None:
    text, model = "hello world" * 3, small.ready.model
    before = sys.getrefcount(text), sys.getrefcount(model), sys.getrefcount(small)
    for _ in range(100):
        small.encode(text)
        small.encode(text, add_special_tokens=True)
    assert (sys.getrefcount(text), sys.getrefcount(model), sys.getrefcount(small)) == before


def test_a_class_of_its_own_is_freed(small: Tokenizer) -> None:
    def make() -> weakref.ref[type]:
        class Own:
            __slots__ = ("_model",)

            def __init__(self, ready: Ready) -> None:
                self._model = ready.model

            @_core.encode_method
            def encode(self, text: str) -> str:
                return text

        encode: Any = Own(small.ready).encode
        assert encode("hello").tolist() == small.encode("hello").tolist()
        assert encode(memoryview(b"a")) == memoryview(b"a")
        return weakref.ref(Own)

    dead = make()
    gc.collect()
    assert dead() is None


def test_a_class_without_the_slot_is_refused() -> None:
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        type("Plain", (), {"encode": _core.encode_method(lambda self, text: text)})
    with pytest.raises((RuntimeError, TypeError)):
        type("Plain", (), {"_model": 1, "encode": _core.encode_method(lambda self, text: text)})
