"""Step 1's tables: what is here, and what it can do."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.measure.rates import Rate
from whygpu.measure.roof import Roofline
from whygpu.story.numbers import duration, si, si_range, significant
from whygpu.story.text import Texts

__all__ = ["machine_tables"]

ARITHMETIC = ("gemm", "gemv")


def machine_tables(texts: Texts, roofline: Roofline) -> list[RenderableType]:
    """The host, the measured rates, the ridge, and what to mistrust."""
    flags = [
        Text(f"! {texts(f'flag.{flag.code}', **flag.values)}", style="yellow") for flag in roofline.flags
    ]
    ridge = texts("rates.ridge", ridge=significant(roofline.ridge("fp32")))
    taken = texts("rates.taken", time=roofline.taken_at)
    return [_host_table(texts, roofline), _rates_table(texts, roofline), ridge, taken, *flags]


def _host_table(texts: Texts, roofline: Roofline) -> RenderableType:
    host = roofline.host
    unknown = texts("unknown")
    caches = ", ".join(f"L{cache.level} {_binary(cache.size)} x {cache.instances}" for cache in host.caches)
    rows = [
        ("cpu", host.cpu or unknown),
        ("cores", f"{host.cores or unknown} / {host.threads}"),
        ("caches", caches or unknown),
        ("memory", _binary(host.usable_memory)),
        ("simd", ", ".join(host.features) or unknown),
        ("system", f"{host.system} · {host.python} · NumPy {host.numpy}"),
        ("blas", f"{host.blas.name} {host.blas.version} ({host.blas.kernel})"),
        ("accelerators", ", ".join(device.name for device in host.accelerators) or texts("none")),
        ("virtual", texts({True: "machine.virtual.clock", False: "no", None: "unknown"}[host.virtual])),
    ]
    table = new_table(texts("machine.title"), texts("machine.what"), texts("machine.value"), text_columns=2)
    for key, value in rows:
        table.add_row(texts(f"machine.{key}"), value)
    return table


def _rates_table(texts: Texts, roofline: Roofline) -> RenderableType:
    keys = ("what", "dtype", "threads", "median", "spread", "best", "runs")
    largest = max((max(rate.shape) for rate in roofline.all("read")), default=0)
    title = texts("rates.title", buffer=_binary(largest))
    table = new_table(title, *(texts(f"rates.{key}") for key in keys))
    for name in dict.fromkeys(rate.name for rate in roofline.rates):
        for dtype in dict.fromkeys(rate.dtype for rate in roofline.all(name)):
            rate = roofline.best(name, dtype)
            table.add_row(
                texts(f"rates.{name}"), rate.dtype, str(rate.threads), *_spread(rate), str(rate.timing.count)
            )
    for launch in roofline.launches:
        timing = launch.timing
        spread = f"{duration(timing.q1)} – {duration(timing.q3)}"
        cells = (duration(timing.median), spread, duration(timing.minimum), str(timing.count))
        table.add_row(texts(f"rates.launch.{launch.name}"), "", str(launch.threads), *cells)
    return table


def _spread(rate: Rate) -> tuple[str, str, str]:
    """Median, quartiles and best, as FLOP/s for products and bytes/s for streams."""
    amount, unit = (rate.flop, "FLOP/s") if rate.name in ARITHMETIC else (rate.bytes, "B/s")
    timing = rate.timing
    spread = si_range(amount / timing.q3, amount / timing.q1, unit)
    return si(amount / timing.median, unit), spread, si(amount / timing.minimum, unit)


def _binary(size: int) -> str:
    """Memory and caches as their makers write them: powers of 1024."""
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= scale:
            return f"{significant(size / scale)} {unit}"
    return f"{size} B"
