"""Files on the way: data files named by their digest, scratch folders, tables from outside."""
