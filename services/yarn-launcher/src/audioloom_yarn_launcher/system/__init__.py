"""The operating system: processes, signals, files, ports and addresses."""
