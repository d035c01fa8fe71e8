"""HTTP: routes over the server functions, and who is calling.

Routes hold no rule of their own about threads: they translate a request into a call
of ``app.functions`` or a read, and its answer or error into a response.
"""
