"""What a method asks for and what it gives, said by the estimator itself.

The comparison of methods in the documentation is made from these, so it cannot drift from them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PUTags:
    """Properties of a PU method.

    Attributes
    ----------
    method : str
        Its name in the literature.
    reference : str
        Authors, venue and year.
    needs_prior : bool
        Whether training needs the class prior, given or estimated first.
    needs_separability : bool
        Whether it is consistent only if the classes do not overlap.
    learner : str
        What is fitted: networks, trees, a linear model, any classifier...
    images : bool
        Whether it takes images of shape (n, C, H, W).
    cost : str
        What a fit trains, in a few words.
    reconstruction : bool
        Whether it was rebuilt from a description rather than from published code.
    """

    method: str
    reference: str
    needs_prior: bool
    needs_separability: bool
    learner: str
    images: bool
    cost: str
    reconstruction: bool = False
