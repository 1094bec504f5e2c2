"""Why a device did not do the work, in words, with a hint.

For one of `WHOLE`, a whole call falls back to the CPU or raises DeviceError. For one of `DOCUMENT`,
the CPU engine encodes a single document of a batch and its ids are spliced in; they are the same.
"""

from __future__ import annotations

from typing import NamedTuple

from tokenmill._cuda.layout import DocumentFlag
from tokenmill._errors import DeviceError


class ReasonText(NamedTuple):
    """What is wrong, and what to do about it."""

    what: str
    hint: str


_OTHER_TOKENIZER = "use device='cpu': the native engine runs this tokenizer at full speed"

WHOLE = {
    "no_cupy": ReasonText(
        "the package cupy is not installed",
        "pip install 'tokenmill[cuda13]', or [cuda12] for a CUDA 12 driver",
    ),
    "no_driver": ReasonText(
        "no usable CUDA driver",
        "install an NVIDIA driver at least as new as the CUDA version of the cupy package",
    ),
    "no_device": ReasonText(
        "no CUDA device with that number", "check nvidia-smi and CUDA_VISIBLE_DEVICES"
    ),
    "no_compiler": ReasonText(
        "the device compiler NVRTC is not installed",
        "pip install 'tokenmill[cuda13]', or [cuda12] for a CUDA 12 driver; both include it",
    ),
    "cc_too_old": ReasonText(
        "the device is older than compute capability 7.0, or 7.5 with CUDA 13",
        "use a device from 2018 or later, or one from 2017 with tokenmill[cuda12]",
    ),
    "compile_failed": ReasonText(
        "the device compiler rejected the kernels", "report it with the text of the error"
    ),
    "unsupported_model": ReasonText(
        "the kernels run BPE over bytes, BPE over characters with a token for each byte, WordPiece,"
        " and Unigram with an unknown token",
        _OTHER_TOKENIZER,
    ),
    "unsupported_split": ReasonText(
        "the kernels cannot run its word split, which removes text", _OTHER_TOKENIZER
    ),
    "unsupported_normalizer": ReasonText(
        "the kernels leave text unchanged, compose it (NFC), mark its blanks, or run the"
        " normalizers of BERT, T5 and XLM-R",
        _OTHER_TOKENIZER,
    ),
    "unsupported_option": ReasonText(
        "a device returns only ids, not offsets or rows", "omit the option"
    ),
    "batch_too_small": ReasonText(
        "the texts are so short that the CPU is faster", "device='cuda' uses the device anyway"
    ),
    "cpu_faster": ReasonText(
        "the CPU was faster on the first texts of this kind", "device='cuda' uses the device anyway"
    ),
    "out_of_memory": ReasonText(
        "the device has too little free memory", "use a smaller batch_bytes, or free some memory"
    ),
    "device_failed": ReasonText(
        "the driver of the device reported an error", "use device='cpu', and report it"
    ),
    "selftest_failed": ReasonText(
        "the device and the CPU engine return different ids for the test text",
        "report it with the name of the device; until then use device='cpu'",
    ),
}

DOCUMENT = {
    "invalid_utf8": ReasonText("it is not UTF-8", "errors='replace' repairs it"),
    "not_normalized": ReasonText("the normalizer may change it", "normalize the text first"),
    "added_token": ReasonText(
        "it has an added token, or a byte that is not in the vocabulary, that only the CPU handles",
        "special_in_text='text' looks for fewer of them",
    ),
    "long_word": ReasonText("it has a word that is too long for the device", "split the document"),
    "no_sync": ReasonText(
        "it has a long stretch without a safe word boundary", "split the document"
    ),
    "overflow": ReasonText(
        "a list on the device was too short for the batch", "use a smaller batch_bytes"
    ),
    "long_document": ReasonText("it is longer than the largest batch", "split the document"),
}


def device_error(reason: str, detail: str = "", where: str = "") -> DeviceError:
    """Make the error for one of `WHOLE`; `detail` describes this case."""
    text = WHOLE[reason]
    problem = f"{text.what} ({detail})" if detail else text.what
    return DeviceError(problem, reason=reason, where=where, hint=text.hint)


def reason_of(flags: int) -> str:
    """Return the first reason in a document's flags, a key of `DOCUMENT`."""
    for flag in DocumentFlag:
        if flags & flag:
            return str(flag.name).lower()
    raise ValueError(f"flags: no reason has the bits {flags:#x}")
