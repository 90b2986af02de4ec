"""One module per part of the paper; the ``derive(ops, known)`` of each returns its closed forms in order."""
