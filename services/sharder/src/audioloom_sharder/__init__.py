"""Features → balanced TFRecord shards: the sharder stage of audioloom."""
