"""The checks of `doctor`: this machine, the cluster and a node, before anything is submitted."""
