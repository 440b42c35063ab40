"""Clients on loopback: tokens a second of one and of many, time to the first token, failures.

    python benchmarks/serve.py --clients 16 --tokens 64 [--model NAME] [--rounds 3]

Starts ``whygpu serve`` itself. One client and many take turns, so that a busy machine disturbs both; the
fastest round of each counts. The clients are bare sockets: their own work must not take the server's cores.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
from time import perf_counter

KEY = "benchmark-key-of-this-run"
PROMPTS = ("Why is the sky blue?", "Tell me about the sea.", "What is a matrix?", "How do birds fly?")


async def ask(port: int, number: int, tokens: int, model: str) -> tuple[float, int, float]:
    """One stream: seconds to the first token, tokens, seconds in all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(
        {
            "model": model,
            "messages": [{"role": "user", "content": f"{PROMPTS[number % len(PROMPTS)]} ({number})"}],
            "max_tokens": tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ).encode()
    started = perf_counter()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(status.decode())
    first, count, done = 0.0, 0, False
    async for line in reader:
        if not line.startswith(b"data: "):
            continue
        if line.startswith(b"data: [DONE]"):
            done = True
            break
        if not first and b'"content":"' in line and b'"content":""' not in line:
            first = perf_counter() - started
        if b'"completion_tokens"' in line:
            count = json.loads(line[6:])["usage"]["completion_tokens"]
    writer.close()
    if not done or not count:
        raise RuntimeError("the stream ended early")
    return first, count, perf_counter() - started


async def together(port: int, clients: int, tokens: int, model: str) -> dict[str, object]:
    """So many at once."""
    started = perf_counter()
    found = await asyncio.gather(
        *(ask(port, i, tokens, model) for i in range(clients)), return_exceptions=True
    )
    seconds = perf_counter() - started
    good = [each for each in found if not isinstance(each, BaseException)]
    firsts = sorted(each[0] for each in good)
    return {
        "clients": clients,
        "tokens_per_second": sum(each[1] for each in good) / seconds,
        "ttft_p50": statistics.median(firsts) if firsts else None,
        "ttft_p99": firsts[min(len(firsts) - 1, int(0.99 * len(firsts)))] if firsts else None,
        "failures": len(found) - len(good),
        "why": sorted({str(each) for each in found if isinstance(each, BaseException)}),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default="smollm2-135m")
    args = parser.parse_args()
    command = [sys.executable, "-m", "whygpu", "serve", "--port", "0", "--json", "--model", args.model]
    server = subprocess.Popen(
        [*command, "--slots", str(args.clients)],
        stdout=subprocess.PIPE,
        env={**os.environ, "WHYGPU_KEY": KEY},
        text=True,
    )
    try:
        assert server.stdout is not None
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(server.stdout.readline())
            if not lines[-1]:
                raise SystemExit("the server did not start")
        port = int(json.loads("".join(lines))["base_url"].split(":")[2].split("/")[0])
        rounds = []
        for _ in range(args.rounds):
            one = asyncio.run(together(port, 1, args.tokens, args.model))
            many = asyncio.run(together(port, args.clients, args.tokens, args.model))
            rounds.append((one, many))
        one, many = (
            max(side, key=lambda each: each["tokens_per_second"]) for side in zip(*rounds, strict=True)
        )
        failures = sum(each["failures"] for pair in rounds for each in pair)
        if not one["tokens_per_second"]:
            raise SystemExit(f"no answer: {one['why']}")
        gain = many["tokens_per_second"] / one["tokens_per_second"]
        print(json.dumps({"one": one, "many": many, "gain": gain, "failures": failures}, indent=2))
    finally:
        started = perf_counter()
        server.terminate()
        server.wait(10)
        print(f"ended {perf_counter() - started:.2f} s after SIGTERM", file=sys.stderr)


if __name__ == "__main__":
    main()
