"""Frames of the lab over loopback: how many a second, how long from a wish to its picture, and a prediction.

    python benchmarks/lab.py [--scene torus-knot] [--size 640x480] [--seconds 5] [--no-browser]

Starts ``whygpu lab`` itself. A wish goes out as soon as a picture has come, two on their way at most, as the
page does it; decoding the picture is the browser's part and is not in it. Then the same in a real browser
(``benchmarks/lab_browser.py``): from the hand's event to the drawn canvas, exhibits, predictions.
"""

import argparse
import asyncio
import json
import os
import statistics
import struct
import subprocess
import sys
import urllib.request
from time import perf_counter

import websockets

KEY = "benchmark-key-of-this-run"


async def frames(
    url: str, scene: str, size: tuple[int, int], seconds: float, window: int
) -> dict[str, object]:
    """Orbit for so long; ``window`` wishes on their way (1: the latency of one alone)."""
    waits, sent, heads, seq = [], {}, [], 0
    async with websockets.connect(
        f"{url.replace('http', 'ws')}/ws/draw", subprotocols=["whygpu", KEY], origin=url, compression=None
    ) as socket:

        async def wish() -> None:
            nonlocal seq
            seq += 1
            show = {"scene": scene, "width": size[0], "height": size[1], "azimuth": 3.0 * seq}
            sent[seq] = perf_counter()
            await socket.send(json.dumps({"show": show, "seq": seq}))

        async def hear() -> None:
            message = await socket.recv()
            length = struct.unpack("!I", message[:4])[0]
            head = json.loads(message[4 : 4 + length])
            waits.append(perf_counter() - sent[head["seq"]])
            heads.append(head)
            await socket.send(json.dumps({"ack": head["frame"]}))

        await wish()
        await hear()
        for _ in range(window):
            await wish()
        started = perf_counter()
        while perf_counter() - started < seconds:
            await hear()
            await wish()
        spent = perf_counter() - started
    ordered = sorted(waits[1:])
    return {
        "triangles": heads[-1]["triangles"],
        "fps": len(ordered) / spent,
        "wish_to_picture_ms": {
            "p50": 1e3 * statistics.median(ordered),
            "p95": 1e3 * ordered[int(0.95 * len(ordered))],
        },
        "render_ms": statistics.median(head["render_ms"] for head in heads),
        "encode_ms": statistics.median(head["encode_ms"] for head in heads),
    }


def prediction(url: str) -> float:
    """Milliseconds of one request of six machines, the least of twenty."""
    body = json.dumps({"model": "llama-3.1-8b", "machines": ["GeForce RTX 4090"] * 6}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    times = []
    for _ in range(20):
        started = perf_counter()
        urllib.request.urlopen(urllib.request.Request(f"{url}/api/predict", body, headers)).read()
        times.append(perf_counter() - started)
    return 1e3 * min(times)


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scene", default="torus-knot")
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--no-browser", action="store_true")
    args = parser.parse_args()
    size = tuple(int(side) for side in args.size.split("x"))
    server = subprocess.Popen(
        [sys.executable, "-m", "whygpu", "lab", "--no-browser", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "WHYGPU_KEY": KEY},
        text=True,
    )
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline()]
        while lines[-1] != "}\n":
            lines.append(server.stdout.readline())
            if not lines[-1]:
                raise SystemExit("the lab did not start")
        url = json.loads("".join(lines))["url"]
        found = {
            "two on their way": asyncio.run(frames(url, args.scene, size, args.seconds, 2)),
            "one on its way": asyncio.run(frames(url, args.scene, size, args.seconds, 1)),
            "prediction_ms": prediction(url),
        }
        if not args.no_browser:
            from lab_browser import in_a_browser

            found["in a browser"] = in_a_browser(url, KEY, args.scene, size, args.seconds)
        print(json.dumps(found, indent=2))
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
