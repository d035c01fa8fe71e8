"""The engine's world in plain dictionaries, for tests without a server.

Every implementation here passes the contract suite that the real one passes
(``tests/contract``), so that a test which trusts it is not fooled.
"""
