"""What ``ropewalk codegen`` writes type-checks under strict, and catches what is wrong."""

import json
import subprocess
from pathlib import Path

import pytest

from app.main.codegen import write

SDK = Path(__file__).parents[3] / "frontend-sdk"
DECLARED = '''
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from app import (
    ActionContext, Agent, MutationContext, QueryContext, ToolContext, action, function_tool,
    mutation, query, tool,
)


class Node(BaseModel):
    """A tree."""

    label: str
    children: list["Node"] = []


@dataclass
class Order:
    id: UUID
    placed: datetime
    kind: Literal["gift", "plain"]
    pair: tuple[int, str]
    extras: dict[str, list[float]]
    tree: Node | None = None


@query
async def find(ctx: QueryContext, order_id: int, deep: bool = False) -> Order | None:
    return None


@mutation
async def place(ctx: MutationContext, order: Order, note: Any = None) -> bytes:
    return b""


@action
async def ship(ctx: ActionContext, order_id: int) -> bool:
    return True


@query
async def everything(ctx: QueryContext) -> list[dict[str, Any]]:
    return []


@dataclass
class Board:
    title: str


@tool
async def pack(ctx: ToolContext, tree: Node, gift: bool = False) -> Order | None:
    """Pack a tree."""
    return None


order_desk = Agent(
    slug="order-desk",
    model="demo:",
    instructions="Take orders.",
    tools=[pack, function_tool("orders:ship")],
    initial_state=Board("today"),
)
helper = Agent(model="demo:", tools=[function_tool("orders:ship", name="send")])
'''
USED = """
import { type AgentName, agents, api, type Node, type Order } from "./api.gen.js";
import {
  type ApprovalRecord,
  approvalOf,
  createClient,
  type Message,
  partsOf,
  type StateOf,
} from "ropewalk";

const client = createClient({ url: "http://localhost" });
declare const order: Order;
const found = await client.query(api.orders.find, { orderId: 1 });
export const kind: "gift" | "plain" | undefined = found?.kind;
export const label: string | undefined = found?.tree?.children?.[0]?.label;
export const first: number | undefined = found?.pair[0];
export const slug: "order-desk" = agents.orderDesk;
export const started: { readonly id: string } = await client.call(api.agents.agentRun, {
  agent: agents.orderDesk,
  input: "hi",
});
await client.query(api.orders.everything, {});
export const watched = client.subscription(api.orders.find, { orderId: 1 }).get().value?.kind;
export const placed: string = await client.mutate(api.orders.place, { order }, {
  optimistic(local) {
    local.set(api.orders.find, { orderId: 1 }, order);
    // @ts-expect-error: that is no order
    local.set(api.orders.find, { orderId: 1 }, "an order");
  },
});
export const shipped: boolean = await client.call(api.orders.ship, { orderId: 1 });
// @ts-expect-error: a mutation cannot be watched
client.subscription(api.orders.place, { order });
// @ts-expect-error: a query changes nothing
await client.mutate(api.orders.find, { orderId: 1 });
// @ts-expect-error: an action is no mutation
await client.mutate(api.orders.ship, { orderId: 1 });
// @ts-expect-error: it is a number
await client.query(api.orders.find, { orderId: "1" });
// @ts-expect-error: it takes nothing
await client.query(api.orders.everything, { limit: 1 });
// @ts-expect-error: it is missing
await client.query(api.orders.find, {});
export const names: AgentName[] = ["order-desk", "helper", agents.helper];
// @ts-expect-error: there is no such agent
export const stranger: AgentName = "nobody";
const board = client.agentState<StateOf<typeof agents.orderDesk>>("t").get();
export const title: string | undefined = board.state?.title;
export function shown(message: Message, approval: ApprovalRecord): unknown {
  for (const part of partsOf(agents.orderDesk, message)) {
    switch (part.type) {
      case "text":
        return part.text satisfies string;
      case "tool_call":
        if (part.name === "ship") return part.input.order_id satisfies number;
        // @ts-expect-error: that is the other tool's
        part.input.order_id;
        return part.input.tree satisfies Node;
      case "tool_result":
        if (part.isError) return part.output satisfies string | undefined;
        if (part.name === "ship") return part.output satisfies boolean | undefined;
        return part.output satisfies Order | null | undefined;
    }
  }
  const asked = approvalOf(agents.helper, approval);
  // @ts-expect-error: the helper has no such tool
  if (asked?.name === "pack") return;
  return asked?.input.order_id satisfies number | undefined;
}
// @ts-expect-error: there is no such agent
export const nobody = agents.nobody;
"""


@pytest.mark.req("CLI-09")
def test_generated_types_check_under_strict(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "orders.py").write_text(DECLARED)
    config = {
        "extends": str(SDK / "tsconfig.json"),
        "compilerOptions": {
            "paths": {"ropewalk": [str(SDK / "src/core/index.ts")]},
            "types": [],
        },
        "include": ["*.ts"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "used.ts").write_text(USED)

    write(folder, tmp_path / "api.gen.ts")
    checked = subprocess.run(
        [SDK / "node_modules/.bin/tsc", "-p", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert checked.stdout == ""
    assert checked.returncode == 0
