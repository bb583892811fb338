"""Says why a value can't be JSON: where it stands, what it is, and what to write instead."""
