"""An editor who asks a researcher, and an article that every open tab sees grow.

The researcher is an agent like any other: it answers in a run of its own, and the editor waits
for it without holding anything.  The article is the thread's synced state.  Try:
"Write about hemp, manila and nylon."
"""

from app import Agent, ToolContext, ToolError, tool

FIBRES = {
    "hemp": "Hemp was the rope of the age of sail: strong, and tarred against the sea.",
    "jute": "Jute is soft and cheap, and rots when it stays wet.",
    "manila": "Manila, from the leaves of a banana plant, floats and needs no tar.",
    "nylon": "Nylon stretches by a third before it breaks, so it catches falls and ships.",
    "sisal": "Sisal comes from an agave; it is stiff, rough, and holds a knot.",
}


@tool
async def look_up_fibre(name: str) -> str:
    """Tell what is known of a fibre that rope is made of.

    Args:
        name: of the fibre, as "hemp".
    """
    known = FIBRES.get(name.lower())
    if known is None:
        raise ToolError(f"Nothing is known of {name}. The fibres are {', '.join(FIBRES)}.")
    return known


@tool(sequential=True)  # one after the other, so that paragraphs stand in the order of the calls
async def add_paragraph(ctx: ToolContext, heading: str, text: str) -> dict[str, object]:
    """Add a paragraph to the end of the article.

    Args:
        ctx: what Ropewalk says about this call; the model does not see it.
        heading: one or two words.
        text: the paragraph.
    """
    paragraph = {"heading": heading, "text": text}
    # Once, however often this body has to run: a plain get and set would add it again.
    article = await ctx.update_state(lambda article: [*article, paragraph])
    return {"heading": heading, "paragraphs": len(article)}


researcher = Agent(
    description="Looks up what is known of a fibre. Ask about one fibre at a time.",
    instructions="Look up what you are asked about, and answer with what you found, in a sentence.",
    model="default",
    tools=[look_up_fibre],
    access="internal",  # asked by other agents and by server code alone
)

editor = Agent(
    description="Writes short articles about rope.",
    instructions="Ask the researcher about each topic, then add a paragraph on each one.",
    model="default",
    tools=[researcher, add_paragraph],
    initial_state=[],
    on_concurrent_run="queue",  # what is said while it writes waits its turn
    access="public",
)
