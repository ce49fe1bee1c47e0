"""The hdfs:// backend on hdfs-native: client, time limits, forks and errors."""
