"""Make a Spark session and run work units in it: the one place for every Spark stage."""
