"""Files to samples: formats, headers, codings, the checksum taken on the way."""
