"""Decode files to samples: formats, headers, codings and the file's checksum."""
