"""Tasks, their stages, and the summaries above them."""
