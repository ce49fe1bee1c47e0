"""The HTML page of a run, and tables of plain text."""
