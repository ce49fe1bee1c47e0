"""Statistics of the recordings of a features run: labels, lengths, formats, duplicates."""
