"""The common parts of hdfs:// and webhdfs://: commit, retries, range reads, tokens, errors."""
