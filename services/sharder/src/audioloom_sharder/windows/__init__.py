"""Windows before they are written: what a scan of the identity columns finds, and their records."""
