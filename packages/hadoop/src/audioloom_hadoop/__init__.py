"""Configuration, REST and YARN diagnostics of a Hadoop cluster, from a client machine."""
