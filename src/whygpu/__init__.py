"""whygpu: why does an LLM need a GPU? One matrix multiply draws and thinks; a ledger counts it.

Nothing heavy is imported here; each layer loads on first use::

    from whygpu import draw, engine, think

    with engine.ledger() as ledger:
        frame = draw.render(draw.load("cube"), size=(640, 480))
    print(ledger.totals())
"""

__version__ = "0.1.0"
