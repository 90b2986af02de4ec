"""One module per part of the paper; each has ``derive(ops, known)``, which returns its closed forms in order."""
