"""Object stores and web servers, read through fsspec; S3 is written to as well."""
