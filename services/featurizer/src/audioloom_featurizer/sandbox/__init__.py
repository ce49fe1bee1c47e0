"""The watched process that decodes, so that a decoder that dies costs one recording."""
