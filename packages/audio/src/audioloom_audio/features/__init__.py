"""One module a feature, and the engines and tables that compute mel spectra."""
