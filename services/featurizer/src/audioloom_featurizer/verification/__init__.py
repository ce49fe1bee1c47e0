"""The checks of `verify`: inventories, features and ledgers."""
