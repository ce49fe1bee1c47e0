"""What the recordings of a features run are: labels, lengths, formats, duplicates."""
