"""From memories to the text an agent reads.

``assembler`` gathers what is in scope, ``selection`` decides what fits and in
which form, ``render`` writes it behind the fences of ``fencing``. Everything
below the assembler is pure: the same input gives the same bytes.
"""
