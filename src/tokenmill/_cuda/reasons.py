"""Why a device did not do the work, in words, and the way out.

A whole call falls back, or raises DeviceError, for one of `WHOLE`. One document among many is
encoded by the CPU engine and put in its place for one of `DOCUMENT`; the ids are the same.
"""

from __future__ import annotations

from typing import NamedTuple

from tokenmill._errors import DeviceError


class Words(NamedTuple):
    """What is the matter, and what can be done about it."""

    what: str
    way_out: str


_OTHER_TOKENIZER = "use device='cpu': the native engine runs this tokenizer at full speed"

WHOLE = {
    "no_cupy": Words(
        "the package cupy is not installed",
        "pip install 'tokenmill[cuda13]', or [cuda12] for a CUDA 12 driver",
    ),
    "no_driver": Words(
        "no CUDA driver can be used",
        "install the NVIDIA driver, one that is as new as the CUDA version of the cupy package",
    ),
    "no_device": Words(
        "no CUDA device of that number", "look at nvidia-smi and CUDA_VISIBLE_DEVICES"
    ),
    "no_compiler": Words(
        "the device compiler NVRTC is not installed",
        "pip install 'tokenmill[cuda13]', or [cuda12] for a CUDA 12 driver, brings it",
    ),
    "cc_too_old": Words(
        "the device is older than compute capability 7.0, or 7.5 with CUDA 13",
        "use a device from 2018 or later; one of 2017 with tokenmill[cuda12]",
    ),
    "compile_failed": Words(
        "the device compiler refused the kernels", "report it with the text of the error"
    ),
    "unsupported_model": Words("the kernels run BPE over bytes alone", _OTHER_TOKENIZER),
    "unsupported_split": Words("the kernels do not know how it finds words", _OTHER_TOKENIZER),
    "unsupported_normalizer": Words(
        "the kernels run tokenizers that leave the text as it is, or compose it (NFC)",
        _OTHER_TOKENIZER,
    ),
    "unsupported_option": Words(
        "a device gives ids alone, no offsets and no rows", "leave the option out"
    ),
    "batch_too_small": Words(
        "the texts are so short that a device would take longer", "device='cuda' uses it anyway"
    ),
    "out_of_memory": Words(
        "the device has too little free memory", "give a smaller batch_bytes, or free some"
    ),
    "selftest_failed": Words(
        "the device gives other ids than the CPU engine for a text that both encoded at the start",
        "report it with the name of the device; until then use device='cpu'",
    ),
}

DOCUMENT = {
    "invalid_utf8": Words("it is not UTF-8", "errors='replace' repairs it"),
    "not_normalized": Words("the normalizer may change it", "normalize the text beforehand"),
    "added_token": Words(
        "it may hold an added token, or a byte that the vocabulary does not have",
        "special_in_text='text' looks for fewer of them",
    ),
    "long_word": Words("a word in it is too long for the device", "split such documents"),
    "no_sync": Words(
        "a stretch of it is too long in which no word surely begins", "split such documents"
    ),
    "overflow": Words(
        "a list on the device was too short for the batch", "give a smaller batch_bytes"
    ),
    "long_document": Words("it is longer than a batch can be", "split such documents"),
}

# The bits of Batch::doc_flags, from the lowest (enum Reason in batch.h).
FLAGS = ("invalid_utf8", "not_normalized", "added_token", "long_word", "no_sync", "overflow")


def device_error(reason: str, detail: str = "", where: str = "") -> DeviceError:
    """Make the error for one of `WHOLE`; `detail` says more about this case."""
    words = WHOLE[reason]
    problem = f"{words.what} ({detail})" if detail else words.what
    return DeviceError(problem, reason=reason, where=where, hint=words.way_out)


def reason_of(flags: int) -> str:
    """Name the first reason in a document's flags."""
    for bit, name in enumerate(FLAGS):
        if flags >> bit & 1:
            return name
    raise ValueError(f"flags: no reason has the bits {flags:#x}")
