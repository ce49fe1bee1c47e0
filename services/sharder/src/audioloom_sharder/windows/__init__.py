"""The scan of the windows' identity columns, and the records made from them."""
