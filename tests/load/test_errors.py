"""The error tree: messages, attributes, builtins, pickling."""

from __future__ import annotations

import pickle

import pytest

from tokenmill import _errors
from tokenmill._errors import TokenmillError

SPECIAL = "<s>"
EXAMPLES: list[tuple[TokenmillError, type[Exception], str]] = [
    (
        _errors.LoadError("expected X, got Y", path="a.json", line=3, hint="do Z"),
        ValueError,
        "a.json:3: expected X, got Y; hint: do Z",
    ),
    (_errors.LoadError("bad", offset=7), ValueError, "byte 7: bad"),
    (_errors.CorruptModel("bad", path="m.mill", offset=3), ValueError, "m.mill at byte 3: bad"),
    (_errors.SourceNotFound("no file", source="x"), FileNotFoundError, "x: no file"),
    (_errors.UnsupportedTokenizer("no", reasons=("a",)), ValueError, "no"),
    (
        _errors.PatternError("bad", pattern="((", offset=2),
        ValueError,
        "pattern at character 2: bad",
    ),
    (_errors.EncodeError("bad", document=1), ValueError, "document 1: bad"),
    (_errors.TextTypeError("no", document=2, hint="x"), TypeError, "document 2: no; hint: x"),
    (_errors.TextTypeError("no", document=2, offset=None), ValueError, "document 2: no"),
    (_errors.OptionError("limit: bad"), ValueError, "limit: bad"),
    (_errors.InvalidUtf8("bad", document=3, offset=9), ValueError, "document 3, byte 9: bad"),
    (_errors.SpecialTokenInText("bad", token=SPECIAL, offset=0), ValueError, "byte 0: bad"),
    (_errors.OutputTooSmall("bad"), ValueError, "bad"),
    (_errors.DtypeError("bad"), ValueError, "bad"),
    (_errors.UnknownId("no id 5", id=5), LookupError, "no id 5"),
    (_errors.InputError("cut", path="a.gz", offset=4), OSError, "a.gz at byte 4: cut"),
    (_errors.OutputError("full", path="o/a.bin"), OSError, "o/a.bin: full"),
    (_errors.OutputInUse("busy", where="o"), OSError, "o: busy"),
    (_errors.PlanDiffers("other", where="o", differences=("a",)), ValueError, "o: other"),
    (_errors.BadRecordFound("bad", path="a.jsonl", line=3), ValueError, "a.jsonl:3: bad"),
    (_errors.TooManyBadRecords("many", bad=2, records=9), ValueError, "many"),
    (_errors.RankFailed("bad", where="rank 3", rank=3), RuntimeError, "rank 3: bad"),
    (_errors.NodeFailed("old", where="node-3"), RuntimeError, "node-3: old"),
    (_errors.BooksDiffer("1 in, 2 out"), RuntimeError, "1 in, 2 out"),
    (_errors.ShardTooLarge("large", where="mds"), ValueError, "mds: large"),
    (_errors.CorruptShard("cut", path="a.rows"), ValueError, "a.rows: cut"),
    (_errors.DeviceError("old", reason="cc_too_old", where="cuda:0"), RuntimeError, "cuda:0: old"),
    (_errors.StoreError("busy", url="s3://b/k"), OSError, "s3://b/k: busy"),
    (_errors.ObjectNotFound("none", url="s3://b/k"), FileNotFoundError, "s3://b/k: none"),
    (_errors.ObjectChanged("other", url="s3://b/k", hint="x"), OSError, "s3://b/k: other; hint: x"),
    (_errors.MissingDependency("absent", name="torch"), ImportError, "torch: absent"),
    (_errors.DeadlineExceeded("late"), TimeoutError, "late"),
    (_errors.Overloaded("busy", reason="max_queue", retry_after=0.5), RuntimeError, "busy"),
    (_errors.UnknownModel("none", model="a"), LookupError, "model: none"),
    (_errors.ModelNotReady("late", model="a", state="loading"), RuntimeError, "a: late"),
    (_errors.ServiceClosed("closed"), RuntimeError, "closed"),
    (_errors.ChatError("refused"), ValueError, "refused"),
    (_errors.TextTooLong("long", size=9, limit=8, where="text"), ValueError, "text: long"),
]


@pytest.mark.parametrize(("error", "builtin", "message"), EXAMPLES)
def test_an_error_says_where_and_is_also_the_builtin(
    error: TokenmillError, builtin: type[Exception], message: str
) -> None:
    assert str(error) == message
    assert isinstance(error, builtin)


@pytest.mark.parametrize("error", [example[0] for example in EXAMPLES])
def test_an_error_survives_pickling(error: TokenmillError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert getattr(again, "name", None) == getattr(error, "name", None)


def test_every_error_of_the_module_has_an_example() -> None:
    defined = {
        value
        for value in vars(_errors).values()
        if isinstance(value, type) and issubclass(value, TokenmillError)
    }
    assert defined == {TokenmillError, *(type(example[0]) for example in EXAMPLES)}
