"""The steps of a run as units of work, each with a receipt."""
