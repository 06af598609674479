"""The methods side by side, as their classifiers describe themselves."""

import pandas as pd

import varpu
from varpu.tags import PUTags

__all__ = ["comparison"]


def comparison() -> pd.DataFrame:
    """One line a PU classifier, from its own ``pu_tags``.

    Every public name that ends in "Classifier" and has such tags is there, in the order of
    ``varpu.__all__``; the networks among them need the extra ``torch``.

    Returns
    -------
    DataFrame
        ``classifier`` (the name of the class), ``method``, ``without_prior`` (whether it trains
        without the class prior or an estimate of it), ``without_separability`` (whether it is
        consistent or optimal where classes overlap), ``learner``, ``images``, ``cost``,
        ``reference``, ``reconstruction``.

    Examples
    --------
    >>> from varpu.methods import comparison
    >>> table = comparison().set_index("classifier")
    >>> bool(table.loc["VPUClassifier", "without_prior"])
    True
    """
    return pd.DataFrame([_line(name, tags) for name, tags in _tagged().items()])


def _tagged() -> dict[str, PUTags]:
    """Tags by the name of the class. What has none, such as a plain network, is no PU method."""
    names = [name for name in varpu.__all__ if name.endswith("Classifier")]
    tags = {name: getattr(getattr(varpu, name), "pu_tags", None) for name in names}
    return {name: found for name, found in tags.items() if found is not None}


def _line(name: str, tags: PUTags) -> dict[str, str | bool]:
    # Both properties are said as the paper's Table 1 says them: what a method does without.
    return {
        "classifier": name,
        "method": tags.method,
        "without_prior": not tags.needs_prior,
        "without_separability": not tags.needs_separability,
        "learner": tags.learner,
        "images": tags.images,
        "cost": tags.cost,
        "reference": tags.reference,
        "reconstruction": tags.reconstruction,
    }
