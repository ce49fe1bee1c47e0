"""Convert signals to windows of coefficients: windows, engines, filters."""
