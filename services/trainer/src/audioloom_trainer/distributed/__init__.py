"""TensorFlow across workers: the cluster, steps, comparisons and lost peers."""
