"""Where units of work run, and the memory they share."""
