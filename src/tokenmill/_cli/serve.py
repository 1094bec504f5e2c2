"""`tokenmill serve`: ids and counts over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _options
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    import argparse

    from tokenmill._serve.options import ServeOptions

_EXAMPLES = """\
examples:
  tokenmill serve                                     the built-in tokenizer, on 127.0.0.1:8000
  tokenmill serve tokenizer.json --port 9000
  tokenmill serve llama=./llama3 qwen=Qwen/Qwen3-8B   two models, by name
  tokenmill serve ./llama3 --workers 4 --host 0.0.0.0 --token-file token.txt

  curl -d '{"prompt": "Hello world"}' -H 'content-type: application/json' \\
      http://127.0.0.1:8000/tokenize

SIGTERM and Ctrl-C let requests finish, for up to --grace seconds.
"""
_VARIABLE = "TOKENMILL_TOKEN"
_BODY = 64 << 20  # bytes of the largest one, unless asked for


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "serve",
        usage="%(prog)s [OPTIONS] [[NAME=]SOURCE ...]",
        help="serve ids and counts over HTTP",
        description="Serve exact token ids, counts and texts over HTTP: /tokenize and /detokenize "
        "as in vLLM, /v1/tokenize as in SGLang, /count, and the health and state of the server.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="[NAME=]SOURCE",
        help="tokenizer.json or a folder with one, .tiktoken, tekken.json, .model, .mill, or a hub "
        "id; a request without a model's name gets the first one (default: the built-in tokenizer)",
    )
    _add_place(parser)
    _add_limits(parser)
    _add_cache(parser)
    _add_connections(parser)
    parser.set_defaults(run=_run)


def _add_place(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where and how")
    group.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    group.add_argument(
        "--port", type=_port, default=8000, help="port; 0 chooses a free one (default: 8000)"
    )
    group.add_argument(
        "--unix-socket", metavar="PATH", help="listen on a Unix socket instead of TCP"
    )
    group.add_argument(
        "--workers",
        type=_options.positive,
        metavar="N",
        help="processes that share the memory of the models (default: 1)",
    )
    group.add_argument("--certificate", metavar="FILE", help="serve HTTPS with this certificate")
    group.add_argument("--private-key", metavar="FILE", help="its key, if it is not in the file")
    group.add_argument(
        "--token-file",
        metavar="FILE",
        help="refuse requests without this bearer token, except health checks "
        f"(or set {_VARIABLE})",
    )
    group.add_argument(
        "--trust-request-chat-template",
        action="store_true",
        help="use chat templates that come with a request (default: refuse them)",
    )
    group.add_argument(
        "--max-model-len",
        type=_options.positive,
        metavar="N",
        help="max_model_len in answers (default: model_max_length of the model's "
        "tokenizer_config.json, or -1)",
    )
    _options.add_config(group)
    group.add_argument("--json", action="store_true", help="write log lines as JSON")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--profile",
        choices=["training", "inference", "realtime", "edge"],
        help="sets threads, queue, timeout and memory at once (default: inference)",
    )
    group.add_argument("--explain", action="store_true", help="print the limits and exit")
    group.add_argument(
        "--timeout",
        type=_options.positive_seconds,
        metavar="S",
        help="seconds that a request may take (default: the profile's)",
    )
    group.add_argument(
        "--threads", type=_options.positive, metavar="N", help="threads of each worker"
    )
    group.add_argument(
        "--max-queue", type=_options.positive, metavar="N", help="requests that may wait"
    )
    group.add_argument(
        "--max-text-bytes", type=_options.positive, metavar="N", help="bytes of text in one request"
    )
    group.add_argument(
        "--memory-limit", type=_options.positive, metavar="BYTES", help="memory of each worker"
    )
    group.add_argument(
        "--tables", choices=["usual", "small", "tiny"],
        help="size of the word tables; smaller ones are slower (default: the profile's)",
    )  # fmt: skip
    group.add_argument(
        "--grace", type=_options.positive_seconds, metavar="S",
        help="seconds that work under way may take when the server stops "
        "(default: the profile's)",
    )  # fmt: skip


def _add_cache(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("segment cache")
    group.add_argument(
        "--cache", type=_options.positive, metavar="BYTES",
        help="remember the ids of long texts between special tokens (default: no cache)",
    )  # fmt: skip
    group.add_argument(
        "--cache-folder", metavar="FOLDER",
        help="also keep the ids on disk, for all workers and the next start",
    )  # fmt: skip
    group.add_argument(
        "--warm", metavar="FILE", help="fill the cache from this file: JSONL, or one text per line"
    )


def _add_connections(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connections")
    group.add_argument(
        "--max-body-bytes", type=_options.positive, metavar="N",
        help="body of one request; a longer one is refused unread (default: four times the allowed "
        "text, at most 64 MiB)",
    )  # fmt: skip
    group.add_argument(
        "--max-connections", type=_options.positive, default=20_000, metavar="N",
        help="connections of each worker (default: 20000)",
    )  # fmt: skip
    group.add_argument(
        "--max-header-bytes", type=_options.positive, default=64 << 10, metavar="N",
        help="headers of one request (default: 64 KiB)",
    )  # fmt: skip
    for name, default, what in (
        ("idle", 75.0, "that a connection may wait for its next request"),
        ("read", 30.0, "that a request may take to arrive"),
        ("write", 30.0, "that a client may stop reading its answer"),
    ):
        group.add_argument(
            f"--{name}", type=_options.positive_seconds, default=default, metavar="S",
            help=f"seconds {what} (default: {default:g})",
        )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    from tokenmill._serve import serve

    _options.use_config(options)
    chosen = _serve_options(options)
    if options.explain:
        return _explain(chosen)
    return serve(chosen)


def _serve_options(options: argparse.Namespace) -> ServeOptions:
    from tokenmill._config import configured
    from tokenmill._serve.options import HttpLimits, ServeOptions
    from tokenmill._service.limits import limits_of

    config = configured()
    # A profile has its own size of tables.
    tables = options.tables or (config.tables if options.profile is None else None)
    given = {"timeout": options.timeout, "threads": options.threads, "grace": options.grace,
             "max_queue": options.max_queue, "max_text_bytes": options.max_text_bytes,
             "tables": tables,
             "memory_limit": options.memory_limit, "cache_bytes": options.cache}  # fmt: skip
    if options.private_key and not options.certificate:
        raise OptionError("needs --certificate", where="private_key")
    service: Any = {name: value for name, value in given.items() if value is not None}
    profile = options.profile or "inference"
    limits = limits_of(profile, service)
    return ServeOptions(
        models=_models(options.models),
        host=options.host,
        port=options.port,
        unix_socket=options.unix_socket,
        workers=options.workers or config.serve_workers or 1,
        token=_token(options.token_file),
        certificate=options.certificate,
        private_key=options.private_key,
        max_model_len=options.max_model_len,
        trusts_templates=options.trust_request_chat_template,
        profile=profile,
        cache_folder=options.cache_folder,
        warm=options.warm,
        json_logs=options.json,
        http=HttpLimits(
            max_body_bytes=options.max_body_bytes or min(_BODY, 4 * limits.max_text_bytes),
            max_header_bytes=options.max_header_bytes,
            max_connections=options.max_connections,
            idle_seconds=options.idle,
            read_seconds=options.read,
            write_seconds=options.write,
            grace_seconds=limits.grace,
        ),
        service=service,
    )


def _models(arguments: list[str]) -> tuple[tuple[str, str | None], ...]:
    """Read `NAME=SOURCE` and `SOURCE`, whose name is that of its file or folder."""
    if not arguments:
        return (("builtin", None),)
    found: dict[str, str | None] = {}
    for argument in arguments:
        name, equals, source = argument.partition("=")
        if not equals:
            name, source = _name_of(argument), argument
        if not name or not source:
            raise OptionError(f"expected NAME=SOURCE, got {argument!r}", where="models")
        if name in found:
            raise OptionError(f"two models have the name {name!r}", where="models")
        found[name] = source
    return tuple(found.items())


def _name_of(source: str) -> str:
    """Return the name of a source: `llama3` for models/llama3/tokenizer.json, hub ids as they are.

    A folder has its own name, a file that is not called tokenizer that of the file.
    """
    path = Path(source)
    if not path.exists():
        return source
    path = path.resolve()
    if path.is_dir():
        return path.name
    return path.parent.name if path.stem == "tokenizer" else path.stem


def _token(path: str | None) -> str | None:
    """Return the bearer token; not from an argument, which other users of the machine could see."""
    if path is None:
        return os.environ.get(_VARIABLE) or None
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", where="token_file") from error
    if not token:
        raise OptionError(f"{path} is empty", where="token_file")
    return token


def _explain(options: ServeOptions) -> int:
    from tokenmill._serve.explain import explain_http
    from tokenmill._service import explain
    from tokenmill._service.limits import limits_of

    print(explain(limits_of(options.profile, options.service)))  # type: ignore[arg-type]  # noqa: T201
    print(explain_http(options.http))  # noqa: T201
    return 0


def _port(text: str) -> int:
    import argparse

    if not text.isascii() or not text.isdigit() or int(text) > 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)
