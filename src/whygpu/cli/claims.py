"""``whygpu claims``: the article's figures, recomputed and judged."""

from typing import TYPE_CHECKING, Literal

import rich_click as click

from whygpu.cli.options import json_option, language_option

if TYPE_CHECKING:
    from whygpu.story.claims import Claim

__all__ = ["claims"]

VERDICTS = ("exact", "rounded", "conditional", "wrong", "unverifiable")


@click.command()
@click.argument("which", nargs=-1, metavar="[ID|CHAPTER]...")
@click.option("--verdict", type=click.Choice(VERDICTS), help="Only those with this verdict.")
@click.option(
    "--measure/--no-measure",
    "measure",
    default=None,
    help="Measure everything again, thoroughly; or only what earlier runs kept "
    "(default: quickly what nobody measured yet).",
)
@json_option
@language_option
def claims(
    which: tuple[str, ...], verdict: str | None, measure: bool | None, as_json: bool, language: str | None
) -> None:
    """Check the article's claims: each figure recomputed, with its verdict and why.

    Without ID all are listed; one ID shows its formula with the numbers put in, its basis and sources.
    Chapters: drawing, processors, embedding, block, cost, experiments, bandwidth, history, ecosystem.

    Example: [bold]whygpu claims gpt3-a100-arithmetic[/bold]
    """
    from whygpu.cli.screen import Screen
    from whygpu.cli.tables.claims import claim_tables, claims_tables
    from whygpu.story.claims import Here, judge
    from whygpu.story.claims.schema import document

    screen = Screen(language, as_json)
    chosen = _chosen(which)
    measuring: Literal["missing", "never", "again"] = (
        "missing" if measure is None else "again" if measure else "never"
    )
    here = Here(measuring, screen.progress)
    with screen.working("claims.measuring"):
        judged = [judge(claim, here) for claim in chosen]
    shown = [each for each in judged if verdict in (None, each.verdict)]
    if as_json:
        screen.json(document(shown).model_dump(mode="json"))
    elif len(chosen) == 1 and shown:
        screen.show(*claim_tables(screen.texts, shown[0]))
    else:
        screen.show(*claims_tables(screen.texts, shown, disturbed=here.disturbed))


def _chosen(which: tuple[str, ...]) -> "list[Claim]":
    """The claims asked for, each once, in the article's order."""
    from whygpu.story import claims as story

    asked = {claim.id for name in which for claim in story.find(name)}
    return [claim for claim in story.claims().values() if not which or claim.id in asked]
