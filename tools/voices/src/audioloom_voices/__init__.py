"""Makes or fetches recordings to try audioloom with: `demo` synthesises them, `debian` fetches."""
