"""What a text says, found without a model: pure functions, the same result for the same text."""
