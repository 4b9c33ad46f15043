"""Two agents to read and to watch.

python -m examples.research
python -m examples.coding
"""
