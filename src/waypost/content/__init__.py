"""The content channel: full results beside the conversation, shown once and then cited."""
