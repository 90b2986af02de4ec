"""Exact numbers for "The KV Cache Is the New Memory Wall" (arXiv:2609.30854), each with its lineage.

Imports run one way: units, notation, expression -> specs -> algebra -> evidence -> artifacts -> audit -> cli.
"""
