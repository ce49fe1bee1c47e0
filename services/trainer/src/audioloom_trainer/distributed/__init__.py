"""TensorFlow across workers: the cluster, the steps, consensus and lost peers."""
