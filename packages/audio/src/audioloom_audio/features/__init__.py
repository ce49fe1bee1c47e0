"""Signals to windows of coefficients: windows, engines, filters."""
