"""Recordings inside container files: tar, zip, SequenceFile, Avro and Parquet."""
