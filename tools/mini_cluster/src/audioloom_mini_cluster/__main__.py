"""`python -m audioloom_mini_cluster`."""

from audioloom_mini_cluster.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
