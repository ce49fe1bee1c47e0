"""Who may speak to Spark on one machine."""

from __future__ import annotations

import socket
import struct

from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings

RPC_REQUEST = 3


def test_a_stranger_s_objects_are_not_deserialized() -> None:
    """Each user of the machine reaches the driver's port: it asks for the secret first."""
    body = bytes(64)
    message = struct.pack(">bqi", RPC_REQUEST, 7, len(body)) + body
    with spark_session("test", SparkSettings(master="local[1]")) as session:
        port = int(session.sparkContext.getConf().get("spark.driver.port"))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as stranger:
            stranger.sendall(struct.pack(">q", len(message) + 8) + message)
            answer = stranger.recv(1 << 16)
    assert b"Expected SaslMessage" in answer
    assert b"ObjectInputStream" not in answer
