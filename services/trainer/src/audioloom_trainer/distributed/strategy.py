"""Set up TensorFlow for this machine and make the distribution strategy."""

import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from audioloom_stage.errors import BadConfiguration
from audioloom_stage.listeners import open_to_others
from audioloom_stage.progress_bar import working

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.peer_failures import translate_peer_failures
from audioloom_trainer.errors import PortTaken, describe_error
from audioloom_trainer.input.batches import Replicas
from audioloom_trainer.runtime.resources import (
    available_cores,
    keep_freed_memory,
    raise_file_limit,
)

log = structlog.get_logger()

_NO_SERVER = "Could not start gRPC server"


@dataclass(frozen=True)
class Gang:
    """The workers that train together, under their strategy, and the replicas of this one."""

    strategy: Any
    cluster: Cluster
    replicas: Replicas


def set_up_tensorflow(
    *, threads: int, deterministic: bool, seed: int, legacy: bool = False
) -> None:
    """Import TensorFlow with Keras 3, and `tf_keras` if asked, before any other module does.

    Raises:
        BadConfiguration: TensorFlow, or the older Keras, is not installed.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    # If this variable were set, tf.keras would silently be the older Keras.
    os.environ.pop("TF_USE_LEGACY_KERAS", None)
    keep_freed_memory()
    raise_file_limit()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        with working("importing TensorFlow"):
            import tensorflow as tf  # noqa: PLC0415  the variables above come first
    except ModuleNotFoundError as error:
        raise BadConfiguration(
            expected="TensorFlow in this environment",
            found=f"no module {error.name!r}",
            hint='Install audioloom-trainer[cpu], or "tensorflow[and-cuda]" beside it for GPUs.',
        ) from None
    import keras  # noqa: PLC0415

    tf.get_logger().handlers.clear()  # its messages reach the root logger too, once is enough
    cores = threads or available_cores()
    tf.config.threading.set_intra_op_parallelism_threads(cores)
    tf.config.threading.set_inter_op_parallelism_threads(cores)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)  # noqa: FBT003
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    keras.utils.clear_session()  # number layers from 0: their names are stored
    keras.utils.set_random_seed(seed % 2**32)
    if legacy:
        set_up_legacy(seed % 2**32)
    log.info("tensorflow is ready", threads=cores, **versions())


def set_up_legacy(seed: int) -> None:
    """Import the older Keras, after TensorFlow was set up; BadConfiguration if it is missing."""
    try:
        import tf_keras  # noqa: PLC0415
    except ImportError as error:
        raise BadConfiguration(
            expected="tf_keras in this environment, for --keras legacy",
            found=describe_error(error),
            hint="Install audioloom-trainer[legacy], or tf-keras of TensorFlow's version.",
        ) from None
    tf_keras.backend.clear_session()
    tf_keras.utils.set_random_seed(seed)
    # Otherwise Dropout would use ops with unreadable state, which no checkpoint could restore.
    tf_keras.backend.experimental.enable_tf_random_generator()


def make_strategy(cluster: Cluster) -> Any:
    """Make the strategy for this process: alone, with several GPUs, or as one of several workers.

    Raises:
        PeerLost: the other workers do not start in time.
        PortTaken: another program listens on this worker's port.
    """
    import tensorflow as tf  # noqa: PLC0415

    if cluster.size > 1:
        with translate_peer_failures(cluster, "while the workers met"):
            try:
                strategy = tf.distribute.MultiWorkerMirroredStrategy()
            except tf.errors.OpError as error:
                if _NO_SERVER not in str(error):
                    raise
                raise PortTaken(
                    "TensorFlow cannot listen on this worker's port",
                    where=f"TF_CONFIG, worker {cluster.rank}",
                    expected="a port that no program has at any address of this machine",
                    found=cluster.workers[cluster.rank],
                    hint="Start all workers again with other ports.",
                ) from error
        warn_of_listeners(cluster)
        return strategy
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def warn_of_listeners(cluster: Cluster) -> None:
    """Warn that TensorFlow's server accepts connections at every address of the machine.

    It listens everywhere, whatever TF_CONFIG says; the launcher starts workers so that it cannot.
    """
    host = cluster.workers[cluster.rank].rpartition(":")[0].strip("[]")
    known = set()
    with suppress(OSError, UnicodeError):
        known = {str(row[4][0]) for row in socket.getaddrinfo(host, None)}
        known -= {"0.0.0.0", "::"}  # noqa: S104 - a wildcard in TF_CONFIG is no address
    for each in open_to_others([os.getpid()], known):
        log.warning(
            "TensorFlow listens on an address that TF_CONFIG does not name, open to anyone:"
            " start the workers by audioloom-yarn-launcher, or keep others out by a firewall",
            listens=str(each),
            told=cluster.workers[cluster.rank],
        )


def local_replicas(strategy: Any, cluster: Cluster) -> Replicas:
    """Return the replicas of this process: one for each of its GPUs, or one without a GPU."""
    total = int(strategy.num_replicas_in_sync)
    count = total // cluster.size
    return Replicas(first=cluster.rank * count, count=count, total=total)


def describe_devices() -> str:
    """Describe the devices of this process, for logs and the manifest."""
    import tensorflow as tf  # noqa: PLC0415

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "CPU"
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    return ", ".join(str(each.get("device_name", "GPU")) for each in details)


def versions() -> dict[str, str]:
    """Return the versions of the packages that results depend on."""
    import keras  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    found = {"tensorflow": tf.__version__, "keras": keras.__version__, "numpy": np.__version__}
    legacy = sys.modules.get("tf_keras")
    return found if legacy is None else found | {"tf_keras": legacy.__version__}
