"""A JSON API made of Python's standard library alone."""
