"""How the cost of the stages grows: two large cases by their planning code, and real small runs."""
