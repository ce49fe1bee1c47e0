"""What a client machine knows of its Hadoop cluster: configuration, REST, YARN's diagnostics."""
