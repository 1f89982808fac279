"""The layered layout of a graph, one module per step; `domain/graph/layout.py` puts them together."""
