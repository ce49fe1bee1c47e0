"""hdfs:// by hdfs-native: the client, its time limits, forks, and errors."""
