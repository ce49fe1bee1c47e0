"""Exact mean and variance of coefficients and targets, whatever the order of the records."""
