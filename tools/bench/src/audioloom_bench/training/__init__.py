"""The parts of the benchmark `train`."""
