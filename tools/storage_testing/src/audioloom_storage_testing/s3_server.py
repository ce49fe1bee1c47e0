"""An S3 server for tests: moto's, as a process of its own on a free port of the loopback.

moto checks `If-None-Match` for a plain PUT and ignores it at the end of a multipart upload; the
check of S3 is added here. Requests are served one at a time, because moto looks and writes in two
steps. With AUDIOLOOM_TEST_S3=s3://bucket/prefix tests run against that store instead, with the
usual variables of AWS.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast
from urllib.parse import parse_qs

GIVEN = "AUDIOLOOM_TEST_S3"
BUCKET = "audioloom-tests"
IGNORES = "AUDIOLOOM_TEST_S3_IGNORES_CONDITIONS"
_TAKEN = (
    b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>PreconditionFailed</Code><Message>At least"
    b" one of the pre-conditions you specified did not hold</Message><Condition>If-None-Match"
    b"</Condition></Error>"
)

Respond = Callable[..., Any]
Application = Callable[[dict[str, Any], Respond], Any]


@dataclass(frozen=True)
class S3:
    """A store for tests.

    Args:
        root: URI of an empty prefix for this program alone.
        environment: variables by which clients reach the store.
    """

    root: str
    environment: Mapping[str, str]


@contextmanager
def running_s3(*, ignores_conditions: bool = False) -> Iterator[S3]:
    """Start a server, or use the store that AUDIOLOOM_TEST_S3 names.

    Args:
        ignores_conditions: the server replaces objects whatever the condition, as older stores do.
    """
    given = os.environ.get(GIVEN)
    if given and not ignores_conditions:
        yield S3(f"{given.rstrip('/')}/{uuid.uuid4().hex}", {})
        return
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    own = {**os.environ, **keys, IGNORES: "1" if ignores_conditions else ""}
    with subprocess.Popen(
        [sys.executable, "-m", "audioloom_storage_testing.s3_server"],
        stdin=subprocess.PIPE,  # the server ends with it
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=own,
        text=True,
    ) as server:
        endpoint = json.loads(cast("IO[str]", server.stdout).readline())["endpoint"]
        region = {"AWS_ENDPOINT_URL": endpoint, "AWS_DEFAULT_REGION": "us-east-1"}
        try:
            yield S3(f"s3://{BUCKET}/{uuid.uuid4().hex}", {**keys, **region})
        finally:
            cast("IO[str]", server.stdin).close()


def main() -> None:
    """Serve until standard input ends."""
    # Users of the store need no server of their own.
    from moto.backends import get_backend  # noqa: PLC0415
    from moto.moto_server.werkzeug_app import create_backend_app  # noqa: PLC0415
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            """Say nothing."""

    store = get_backend("s3")["123456789012"]["aws"]
    store.create_bucket(BUCKET, "us-east-1")
    application = _one_at_a_time(create_backend_app("s3"), store)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"endpoint": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    sys.stdin.read()


def _one_at_a_time(application: Application, store: Any) -> Application:
    lock, ignores_conditions = threading.Lock(), bool(os.environ.get(IGNORES))

    def serve(environ: dict[str, Any], respond: Respond) -> Any:
        with lock:
            if ignores_conditions:
                environ.pop("HTTP_IF_NONE_MATCH", None)
            if _ends_an_upload(environ) and _is_taken(environ, store):
                respond("412 Precondition Failed", [("Content-Length", str(len(_TAKEN)))])
                return [_TAKEN]
            return list(application(environ, respond))

    return serve


def _ends_an_upload(environ: Mapping[str, Any]) -> bool:
    wanted = environ.get("HTTP_IF_NONE_MATCH") == "*" and environ["REQUEST_METHOD"] == "POST"
    return wanted and "uploadId" in parse_qs(environ.get("QUERY_STRING", ""))


def _is_taken(environ: Mapping[str, Any], store: Any) -> bool:
    path = environ["PATH_INFO"].encode("latin-1").decode()  # as PEP 3333 hands text over
    _, bucket, key = path.split("/", 2)
    return store.get_object(bucket, key) is not None


if __name__ == "__main__":
    main()
