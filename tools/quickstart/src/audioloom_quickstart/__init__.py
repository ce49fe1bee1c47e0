"""The pipeline as a user would run it: four installed programs that know each other by manifest."""
