"""Random schemas, queries and writes, and courses in which watchers have to stay true to them."""
