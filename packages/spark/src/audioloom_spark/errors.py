"""Errors that keep Spark from working on a cluster.

* BadConfiguration (audioloom_stage, exit code 78)
  - NoCluster       no configuration of a Hadoop cluster
  - BadRequest      the cluster cannot give what is asked for: queue, memory, cores
  - NodesUnfit      the nodes lack what Spark needs: Java
  - ModuleMissing   Spark's Python workers cannot import what they need
* ServiceDown (audioloom_stage, exit code 69)
  - ClusterDown     no ResourceManager or NameNode answers
* NoPermission (audioloom_stage, exit code 77)
  - NotAllowed      the queue, or a folder that Spark needs, is not for this user
* TryAgain (audioloom_stage, exit code 75)
  - SparkGaveUp     Spark ended the work, for a reason of its own
"""

from audioloom_stage import BadConfiguration, NoPermission, ServiceDown, TryAgain


class NoCluster(BadConfiguration):
    """No configuration of a Hadoop cluster."""


class BadRequest(BadConfiguration):
    """The cluster cannot give what was requested: queue, memory or cores."""


class NodesUnfit(BadConfiguration):
    """The nodes lack what Spark needs."""


class ModuleMissing(BadConfiguration):
    """Spark's Python workers cannot import what they need; a retry would fail again."""


class ClusterDown(ServiceDown):
    """No ResourceManager or NameNode answers."""


class NotAllowed(NoPermission):
    """The queue, or a folder that Spark needs, is not for this user."""


class SparkGaveUp(TryAgain):
    """Spark ended the work, for a reason of its own."""
