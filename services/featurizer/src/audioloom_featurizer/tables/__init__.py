"""Windows that another program computed: from a table to the features files of a run."""
