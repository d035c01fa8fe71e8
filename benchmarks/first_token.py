"""From a message sent to its first token seen, over one socket, everything running.

Beside it, in the same run and with the same scripted model: a bare WebSocket server that asks
the model and sends what comes, with no store, no queue and no worker.  The difference is what
durability costs a person who waits.  Run with ``python -m benchmarks.first_token``.

Goal: p50 under 15 ms (the model answers at once).
"""

import asyncio
import importlib.util
import json
import time
import uuid
from multiprocessing import get_context
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect

from app.main.embedded.ports import free_port
from benchmarks.deployment import AGENTS, deployment, spread

MESSAGES = 100


def bare_server(port: int) -> None:
    """Serve the same model with nothing in between."""
    from pydantic_ai import ModelRequest  # noqa: PLC0415  # in the child only
    from pydantic_ai.direct import model_request_stream  # noqa: PLC0415

    spec = importlib.util.spec_from_file_location("bench_agents", AGENTS / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    agents = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agents)

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            while True:
                said = await websocket.receive_text()
                request = [ModelRequest.user_text_prompt(said)]
                async with model_request_stream(agents.echo.model, request) as stream:
                    async for event in stream:
                        await websocket.send_text(type(event).__name__)
                await websocket.send_text("end")
        except WebSocketDisconnect:
            return

    app = Starlette(routes=[WebSocketRoute("/", endpoint)])
    uvicorn.run(app, port=port, loop="uvloop", log_level="warning", ws_per_message_deflate=False)


async def bare_ms(port: int) -> list[float]:
    figures = []
    async with connect(f"ws://127.0.0.1:{port}/", compression=None) as ws:
        for number in range(MESSAGES):
            begun = time.perf_counter()
            await ws.send(f"hello {number}")
            await ws.recv()
            figures.append((time.perf_counter() - begun) * 1000)
            while await ws.recv() != "end":
                pass
    return figures


async def receive(ws: ClientConnection, wanted: str) -> dict[str, Any]:
    """Return the next frame of a type; an error ends the benchmark."""
    while True:
        frame: dict[str, Any] = json.loads(await ws.recv())
        assert frame["type"] != "error", frame
        if frame["type"] == wanted:
            return frame


async def settled(ws: ClientConnection) -> None:
    """Wait until the thread is free again."""
    while True:
        frame = await receive(ws, "snapshot")
        if frame["id"] == "thread" and frame["value"] and frame["value"]["status"] == "completed":
            return


async def ropewalk_ms(url: str) -> list[float]:
    figures = []
    key = f"first-token-{uuid.uuid4().hex}"
    address = url.replace("http", "ws", 1) + "/ws"
    async with connect(address, subprotocols=["ropewalk.v1"], compression=None) as ws:  # type: ignore[list-item]
        await ws.send(json.dumps({"type": "hello", "protocol": 1}))
        await receive(ws, "welcome")
        for id_, query in (("messages", "agentMessages"), ("thread", "agentThread")):
            args = {"key": key}
            subscribe = {"type": "subscribe", "id": id_, "query": f"agents:{query}", "args": args}
            await ws.send(json.dumps(subscribe))
        for number in range(MESSAGES):
            call = {
                "type": "call",
                "id": str(number),
                "fn": "agents:agentRun",
                "args": {"agent": "echo", "key": key, "input": f"hello {number}"},
                "dedupe": uuid.uuid4().hex,
            }
            begun = time.perf_counter()
            await ws.send(json.dumps(call))
            await receive(ws, "token")
            figures.append((time.perf_counter() - begun) * 1000)
            await settled(ws)
    return figures


async def until_open(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def measure(url: str, port: int) -> None:
    async with asyncio.timeout(180):
        await until_open(port)
        await bare_ms(port)
        await ropewalk_ms(url)
        bare, ours = await bare_ms(port), await ropewalk_ms(url)
    print(f"model on a bare socket     {spread(bare)}")
    print(f"message to first token     {spread(ours)}")


def main() -> None:
    port = free_port()
    bare = get_context("spawn").Process(target=bare_server, args=(port,), daemon=True)
    bare.start()
    try:
        with deployment() as dev:
            asyncio.run(measure(dev.url, port))
    finally:
        bare.terminate()
        bare.join()


if __name__ == "__main__":
    main()
