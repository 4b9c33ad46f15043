"""Money for a small café."""
