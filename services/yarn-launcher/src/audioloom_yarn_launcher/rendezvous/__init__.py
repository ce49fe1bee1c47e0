"""The messages, keys, roles and causes that the launcher, the coordinator and the workers share."""
