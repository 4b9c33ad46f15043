"""The write path: prepare (encode, place), embed, store. One module per step."""
