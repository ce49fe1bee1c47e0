"""YARN as the backend: client, application, containers, localization, credentials, diagnostics."""
