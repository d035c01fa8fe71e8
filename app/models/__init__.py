"""Which model answers, what a provider's failure means, and the model that needs no provider.

``resolve`` turns what an agent says into a pydantic-ai model; ``failures`` decides
whether to try again and says in words why a request failed; ``demo`` is the
built-in scripted model.
"""
