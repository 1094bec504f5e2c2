"""The compiled core of tokenmill. Private: use tokenmill.Tokenizer."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


REPORTS_LEAKS: bool = False

def raise_error(code: int, text: str) -> None:
    """Raise the exception of an ErrorCode."""

ERROR_CODES: int = 14

class Stop:
    """Ends the calls it is passed to: after `timeout`, or on cancel()."""

    def __init__(self, timeout: float | None = None) -> None: ...

    def cancel(self) -> None:
        """End the calls; any thread may ask for it."""

    @property
    def due(self) -> bool:
        """Has the time passed, or was it cancelled?"""

    def check(self) -> None:
        """Raise the exception of a call that it ends, if it is due."""

class CallCounts:
    """What the calls that got it have counted, one after another."""

    def __init__(self, exact: bool = False) -> None: ...

    def as_dict(self) -> dict: ...

def compile_model(definition: object) -> bytes:
    """Compile a tokenmill._compile.definition.Definition."""

class TextBuffer:
    """Many texts in one buffer: text i is data[offsets[i]:offsets[i + 1]]."""

    def __init__(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

    def __getitem__(self, arg: int, /) -> bytes: ...

class BlockRules:
    """How Model.encode_jsonl and encode_texts read and encode a block."""

    def __init__(self, field: str, before: Sequence[int], after: Sequence[int], special_mode: int = 0, bits: int = 32) -> None: ...

    @property
    def step_bytes(self) -> int: ...

    @step_bytes.setter
    def step_bytes(self, arg: int, /) -> None: ...

    @property
    def max_document_bytes(self) -> int: ...

    @max_document_bytes.setter
    def max_document_bytes(self, arg: int, /) -> None: ...

    @property
    def max_line_bytes(self) -> int: ...

    @max_line_bytes.setter
    def max_line_bytes(self, arg: int, /) -> None: ...

    @property
    def replace_bad_utf8(self) -> bool: ...

    @replace_bad_utf8.setter
    def replace_bad_utf8(self, arg: bool, /) -> None: ...

    @property
    def replace_lone_surrogate(self) -> bool: ...

    @replace_lone_surrogate.setter
    def replace_lone_surrogate(self, arg: bool, /) -> None: ...

class DeviceTurn:
    """
    A lock that calls with and without the GIL share; `last` is the handle of an event, or 0.
    """

    def __init__(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object | None, error: object | None, trace: object | None) -> None: ...

    @property
    def last(self) -> int: ...

    @last.setter
    def last(self, arg: int, /) -> None: ...

class LineDevice:
    """
    Reads and encodes lines on a device; its maker keeps all memory whose addresses it has.
    """

    def __init__(self, driver: dict, layout: dict, turn: DeviceTurn, work_stream: int) -> None: ...

    def add_seat(self, numbers: dict, works: Sequence[tuple[int, int, int]]) -> int: ...

    def add_lane(self, numbers: dict, reads: Sequence[tuple[int, int, int]]) -> int: ...

    def add_reading(self, values: Sequence[tuple[int, int]]) -> int: ...

    def start(self, lane: int, size: int, reading: int) -> None:
        """Start to read what is in a lane."""

    def encode_started(self, lane: int) -> tuple[bool, int, int, NDArray[numpy.int64], int, bool, NDArray[numpy.int64]]:
        """Wait for a lane and encode its texts; the ids stay on the device."""

    @property
    def free_lanes(self) -> int: ...

    def lend(self) -> int | None:
        """
        Take a lane whose host memory the caller fills; None if all are in use.
        """

    def give_back(self, lane: int) -> None: ...

    @property
    def spent(self) -> dict:
        """
        Seconds that calls of `encode_lines` took for each step, and their number.
        """

class PickedTexts:
    """Some texts of a list, for Model.encode_batch."""

    def __len__(self) -> int: ...

class TextList:
    """Texts, held where they are, and their sizes as UTF-8."""

    def __init__(self, texts: object, threads: int = 1) -> None: ...

    def __len__(self) -> int: ...

    @property
    def offsets(self) -> NDArray[numpy.int64]:
        """Where each text begins if all are UTF-8, back to back; int64."""

    def pick(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> PickedTexts:
        """Return texts by their numbers."""

def pick_ranges(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> PickedTexts:
    """Return texts that are ranges of one buffer."""

class CopyCrew:
    """
    Threads that copy without the GIL, one thing at a time, for one caller. They work until finish(), which helps them and waits.
    """

    def __init__(self, threads: int) -> None: ...

    def start_gather(self, texts: object, begin: int, end: int, out: Annotated[NDArray, dict(order='C', device='cpu')]) -> None:
        """Write texts as UTF-8, back to back; lone surrogates become U+FFFD."""

    def start_copy(self, target: Annotated[NDArray, dict(order='C', device='cpu')], source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> None:
        """Copy the bytes of an array."""

    def finish_copies(self) -> NDArray[numpy.int64]:
        """
        Wait, and return the numbers of the gathered texts with a lone surrogate.
        """

class Model:
    """A compiled model over a buffer that it keeps alive."""

    def __init__(self, buffer: object, shrink_tables: int = 0, tables: int = 0) -> None: ...

    def encode(self, text: object | None, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, stop: Stop | None = None) -> NDArray[numpy.uint32]: ...

    def encode_batch(self, texts: object | None, threads: int = 1, bits: int = 32, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, stop: Stop | None = None, counts: CallCounts | None = None) -> tuple[NDArray, NDArray[numpy.int64]]: ...

    def encode_spans(self, texts: object | None, threads: int = 1, bits: int = 32, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, in_characters: bool = True, stop: Stop | None = None, counts: CallCounts | None = None) -> tuple[object, object, object]: ...

    def encode_words(self, texts: object | None, threads: int = 1, special_mode: int = 0) -> tuple[object, object, object, object]: ...

    def encode_into(self, texts: object | None, out: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu')], threads: int = 1, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, stop: Stop | None = None) -> NDArray[numpy.int64]: ...

    def encode_jsonl(self, buffer: object, rules: BlockRules, counts: CallCounts | None = None) -> tuple[NDArray, NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]: ...

    def encode_lines(self, device: LineDevice, buffer: object, rules: BlockRules, reading: int, lane: int | None = None) -> tuple[NDArray, NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]] | int:
        """
        Do the same on a device, in a lane that was lent, if given. Return the flags of documents that the CPU encoded besides; or 1 if the CPU must read the lines, 2 if they do not fit.
        """

    def encode_texts(self, texts: TextBuffer, rules: BlockRules, counts: CallCounts | None = None) -> tuple[NDArray, NDArray[numpy.int64]]: ...

    def count_batch(self, texts: object | None, threads: int = 1, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, limit: int = -1, stop: Stop | None = None) -> NDArray[numpy.int64]: ...

    def count(self, text: object | None, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, limit: int = -1, stop: Stop | None = None) -> int: ...

    def prefix_end(self, text: object, start: int) -> int: ...

    def is_well_formed(self, text: object) -> bool: ...

    def decode(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bytes: ...

    def decode_batch(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[bytes]: ...

    def token_bytes(self, id: int) -> bytes: ...

    def token_id(self, token: bytes) -> int: ...

    def memory(self) -> dict: ...

    def counters(self) -> dict: ...

    def release(self) -> int: ...

    def device_tables(self) -> dict: ...

    @property
    def meta(self) -> bytes: ...

    @property
    def packed_source(self) -> bytes: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_id(self) -> int: ...

    @property
    def target(self) -> str: ...

def target() -> str:
    """The instruction set that new models use."""

def spare_bytes() -> int:
    """Bytes of result buffers that all models use again."""

def environment(name: str) -> str | None:
    """
    Return a variable of the environment; os.environ takes 0.8 us for one that is not set.
    """

def targets() -> list[str]:
    """Every instruction set that this CPU can run."""

def encode_method(function: object) -> object:
    """
    Return the method `function`, whose plain calls encode with the slot `_model`.
    """

class Session:
    """A text that grows, and its ids."""

    def __init__(self, model: object, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, max_bytes: int | None = None, small_steps: bool = False) -> None: ...

    def append(self, text: object | None, stop: Stop | None = None) -> tuple[int, NDArray[numpy.uint32]]: ...

    def replace_tail(self, count: int, text: object | None, in_characters: bool = True, stop: Stop | None = None) -> tuple[int, NDArray[numpy.uint32]]: ...

    def fork(self) -> Session: ...

    @property
    def ids(self) -> NDArray[numpy.uint32]: ...

    @property
    def text_bytes(self) -> bytes: ...

    @property
    def n_ids(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    @property
    def n_pending(self) -> int: ...

    @property
    def memory(self) -> int: ...

    @property
    def reason(self) -> str: ...

class ControlTokens:
    """Added tokens that count only in trusted text: special ones, `more`."""

    def __init__(self, model: object, more: Sequence[int]) -> None: ...

def encode_parts(model: object, texts: object, trusted: Sequence[bool], control: ControlTokens, add_special_tokens: bool = False, errors: int = 0, threads: int = 1, stop: Stop | None = None) -> tuple[NDArray[numpy.uint32], int]:
    """
    Encode joined texts; control tokens count only where all text is trusted.
    """

class SegmentCache:
    """Ids of segments of text, within a byte budget."""

    def __init__(self, budget_bytes: int, min_bytes: int, cut_bytes: int, other_bytes: int, verify: int, seed: bytes, switches_off: bool) -> None: ...

    def encode_cached(self, model: object, text: object | None, add_special_tokens: bool = False, special_mode: int = 0, errors: int = 0, stop: Stop | None = None, disk: object | None = None) -> NDArray[numpy.uint32] | None: ...

    def segments(self, model: object, text: object) -> list[tuple[bytes, int]]: ...

    def warm(self, model: object, text: object, key: bytes, disk: object | None = None) -> None: ...

    @staticmethod
    def fingerprint(model: object) -> bytes: ...

    def clear(self) -> None: ...

    def resize(self, budget_bytes: int) -> None: ...

    def after_fork(self) -> None: ...

    def use(self) -> dict: ...

    def models(self) -> list[dict]: ...

def is_whole_record(record: bytes) -> bool:
    """Is a record of the cache as it was written?"""

def normalize(program: bytes, text: bytes) -> bytes:
    """Rewrite UTF-8 by a serialized normalizer."""

def normalize_aligned(program: bytes, text: bytes) -> tuple:
    """
    Rewrite UTF-8; and for each byte of the result the bytes it stands for, as pairs of uint32.
    """

def rewrite_characters(program: bytes) -> tuple:
    """
    Return the characters that a normalizer changes, what each becomes alone (bytes and their ends), and the characters whose neighbours may matter.
    """

def is_normalized(program: bytes, text: bytes) -> bool:
    """True only if the normalizer certainly leaves the text alone."""

def pack_concat(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], context_length: int, overlap: int, drop_tail: bool) -> tuple:
    """Cut the stream of all documents into rows."""

def pack_concat_rows(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], stream_begin: int, row_begin: int, row_end: int, context_length: int, overlap: int) -> tuple:
    """Cut some rows out of a longer stream."""

def pack_best_fit(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], context_length: int, longer: int) -> tuple:
    """Best-fit decreasing; longer: 0 splits, 1 truncates, 2 drops."""

def pack_best_fit_crop(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], context_length: int, drop_tail: bool) -> tuple:
    """
    Fill each row with the longest documents that fit and crop one where none does.
    """

def pack_one_per_row(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], context_length: int, longer: int) -> tuple:
    """One document per row."""

def pack_documents(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """One document per row, whatever its length."""

class Checksum:
    """XXH3 of 128 bits, of more bytes than SHORT."""

    def __init__(self) -> None: ...

    def update(self, buffer: object) -> None: ...

    def short_bytes(self) -> bytes | None:
        """All bytes, if they are too few for `digest`; else None."""

    def digest(self) -> tuple: ...

def piece_table(documents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_pieces: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: tuple, width: int, before: int, continue_positions: bool) -> NDArray[numpy.uint64]:
    """
    Return what a device needs to fill rows, seven columns; `sources` are addresses, lengths and whether BOS and EOS are there, of each document.
    """

def copy_pieces(files: Sequence[int], source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], id_bytes: int, out: int, checksum: Checksum) -> tuple:
    """
    Append pieces of files (descriptors) to another one; return the number of the file that could not be read, the number of files if that one could not be written, or -1; and the error of the system, 0 if the file ended.
    """

def append_bytes(data: object, out: int, checksum: Checksum) -> int:
    """
    Append a buffer to a file (its descriptor) and to its checksum; return the error of the system, or 0.
    """

@overload
def frame(ids: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: Sequence[int], suffix: Sequence[int]) -> tuple: ...

@overload
def frame(ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: Sequence[int], suffix: Sequence[int]) -> tuple:
    """Put ids around each document: (ids, lengths)."""

@overload
def gather(sources: Sequence[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]], source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> int: ...

@overload
def gather(sources: Sequence[Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]], source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Copy pieces of the sources to out, back to back; return how many ids that were.
    """

@overload
def read_pieces(files: Sequence[int], source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> tuple: ...

@overload
def read_pieces(files: Sequence[int], source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> tuple:
    """
    Read pieces of files (descriptors) to places of out; return the number of the file that could not be read, or -1, and the error of the system, 0 if the file ended.
    """

@overload
def fill_rows(ids: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: int, pad: int) -> object: ...

@overload
def fill_rows(ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], length: int, pad: int) -> object:
    """Rows back to back -> rows of one length, filled up with the id pad."""

def find_newline(file: int, place: int, most: int) -> int:
    """
    The bytes of a file (its descriptor) from a place to the next newline; -1 if there are more than most, or there is none.
    """

def read_lines(file: int, place: int, size: int, target: str | None = None) -> tuple[NDArray[numpy.uint8], int]:
    """
    The whole lines among some bytes of a file (its descriptor), and how many they are.
    """

def read_lines_into(file: int, place: int, memory: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int]:
    """
    Fill memory from a file (its descriptor): how many of its bytes are whole lines, and how many lines these are.
    """

def keep_spares(count: int) -> None:
    """Set how many freed buffers of each kind are kept for the next call."""

USUAL_SPARES: int = 4

def read_jsonl(buffer: object, field: str, max_document_bytes: int, max_line_bytes: int, replace_bad_utf8: bool = False, replace_lone_surrogate: bool = False, target: str | None = None) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Take a field from each line: text, offsets, lines, begins, bad lines (five numbers each), and the counts of lines, blank lines and repaired documents.
    """

def check_texts(buffer: object, begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_document_bytes: int, skip_blank: bool = False, target: str | None = None) -> NDArray[numpy.int64]:
    """
    For each text the number of what is wrong with it; 255 for nothing, 254 for a blank.
    """

def join_texts(buffer: object, begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: str | None = None) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64]]:
    """Copy texts back to back, with bad UTF-8 replaced: text, offsets."""

def split_text(buffer: object, separator: bytes | None = None) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Starts and ends of the lines, or of the texts between separators."""

def last_cut(buffer: object, separator: bytes) -> tuple[int, int]:
    """
    The end of the last separator, or 0 if there is none; and how many there are.
    """

def list_pairs(pairs: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)]) -> object:
    """An array of two columns as tuples."""

class TokenizeFields:
    """The fields of a request for ids."""

    @property
    def fault(self) -> tuple[int, str, str] | None: ...

    @property
    def model(self) -> str | None: ...

    @property
    def prompt(self) -> bytes | None: ...

    @property
    def prompts(self) -> list[bytes] | None: ...

    @property
    def has_messages(self) -> bool: ...

    @property
    def add_special_tokens(self) -> bool | None: ...

    @property
    def return_token_strs(self) -> bool: ...

class DetokenizeFields:
    """The fields of a request for a text."""

    @property
    def fault(self) -> tuple[int, str, str] | None: ...

    @property
    def model(self) -> str | None: ...

    @property
    def ids(self) -> NDArray[numpy.uint32]: ...

    @property
    def ends(self) -> NDArray[numpy.int64]: ...

    @property
    def is_nested(self) -> bool: ...

    @property
    def skip_special_tokens(self) -> bool | None: ...

def read_tokenize(body: object) -> TokenizeFields:
    """
    Read the body of a request for ids; `fault` is (byte, member, what is wrong) or None.
    """

def read_detokenize(body: object) -> DetokenizeFields:
    """Read the body of a request for the text of ids."""

def write_answer(*parts: object) -> bytes:
    """
    Join JSON (bytes), texts (str), ids (uint32 arrays), lists of them and rows (a tuple of ids and the int64 ends of rows) to one body.
    """

def read_document(body: object) -> tuple[dict[str, object] | None, tuple[int, str] | None]:
    """
    Read a body that is a JSON object; the second value is (byte, what is wrong) or None.
    """

def read_whole_request(data: bytes, most_body: int) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes] | None:
    """
    Read a plain request of HTTP: (method, path, accept, authorization, content-type, body); None for what a full parser has to judge.
    """
