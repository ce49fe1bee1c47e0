"""What hdfs:// and webhdfs:// share: commit, retries, reading in ranges, tokens, errors."""
