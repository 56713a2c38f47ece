"""pincite similar: what other sections say nearly the same as a place."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    DocumentOption,
    IndexOption,
    JsonOption,
    err,
    out,
    print_json,
    store_alone,
    told,
)


def similar(
    locator: Annotated[str, typer.Argument(help="A place: '97.113(a)(4)', 'Table 250.66'.")],
    k: Annotated[int, typer.Option("-k", help="How many places.", min=1, max=100)] = 5,
    least: Annotated[
        float, typer.Option("--least", help="The smallest cosine that counts.", min=-1, max=1)
    ] = 0.7,
    document: DocumentOption = None,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """List the nearest places of other sections, by the vectors of the index."""
    from pincite import api

    with told(as_json=as_json, index=index), api.Index.open(index, store_alone()) as opened:
        places = opened.show(locator, document)
        found = [(place, opened.similar(place, k, least)) for place in places]
    if as_json:
        print_json(
            [
                {
                    "document": place.span.doc_id,
                    "locator": place.locator,
                    "similar": [
                        {
                            "document": other.span.doc_id,
                            "locator": other.locator,
                            "chunk": other.id,
                            "cosine": cosine,
                        }
                        for other, cosine in near
                    ],
                }
                for place, near in found
            ]
        )
        return
    for place, near in found:
        err.print(f"{place.span.doc_id} › {place.locator}", style="dim", markup=False)
        for other, cosine in near:
            name = " › ".join((other.span.doc_id, *other.path[-1:], other.locator))
            out.print(f"{cosine:.3f}  {name}", markup=False, soft_wrap=True)
        if not near:
            err.print(f"nothing in another section has a cosine of {least} or more")
