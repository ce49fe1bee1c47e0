"""A supervised worker process decodes, so a decoder that crashes costs one recording."""
