"""One module per part of the paper; each has ``derive(ops, known) -> list[ClosedForm]`` (see ``algebra/derive.py``)."""
