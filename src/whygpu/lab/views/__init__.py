"""What the pages talk to: one file a view."""
