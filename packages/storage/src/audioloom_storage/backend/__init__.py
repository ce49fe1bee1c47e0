"""What every storage must do, where faults can be put, and the names of unfinished files."""
