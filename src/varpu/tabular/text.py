"""Free text as a few numbers: TF-IDF, reduced by a truncated singular value decomposition."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

_MOST_COLUMNS = 50
_MOST_WORDS = 20_000
# Words and directions are learned from so many rows at most, and so much of each.
_MOST_ROWS = 50_000
_MOST_CHARACTERS = 10_000

Floats = NDArray[np.float64]


class TextColumn:
    """What was learned of one column of text.

    Attributes
    ----------
    words : list of str
    idf : array of shape (words,)
    components : array of shape (columns, words)
    """

    def __init__(self, words: list[str], idf: Floats, components: Floats) -> None:
        self.words, self.idf, self.components = words, idf, components
        self._vectorizer = _vectorizer(vocabulary={word: i for i, word in enumerate(words)})
        self._vectorizer.idf_ = idf

    @classmethod
    def learn(cls, text: pd.Series, random_state: int) -> "Self | None":
        """From the known values of a column; None if no word is in two of them."""
        random = np.random.RandomState(random_state)
        if len(text) > _MOST_ROWS:
            text = text.iloc[np.sort(random.choice(len(text), _MOST_ROWS, replace=False))]
        vectorizer = _vectorizer(min_df=2, max_features=_MOST_WORDS)
        try:
            weights = vectorizer.fit_transform(text.str.slice(0, _MOST_CHARACTERS))
        except ValueError:  # sklearn's word for an empty vocabulary
            return None
        words = vectorizer.get_feature_names_out().tolist()
        n_columns = min(_MOST_COLUMNS, len(words) - 1, weights.shape[0] - 1)
        if n_columns < 1:
            return None
        svd = TruncatedSVD(n_columns, random_state=random_state).fit(weights)
        return cls(words, vectorizer.idf_, svd.components_)

    def transform(self, text: pd.Series) -> Floats:
        """Shape (n, columns); a missing text is a row of NaN."""
        known = text.notna().to_numpy()
        reduced = np.full((len(text), len(self.components)), np.nan)
        if known.any():
            weights = self._vectorizer.transform(text[known].str.slice(0, _MOST_CHARACTERS))
            reduced[known] = weights @ self.components.T
        return reduced

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As JSON values and arrays."""
        return {"words": self.words}, {"idf": self.idf, "components": self.components}

    @classmethod
    def from_state(cls, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What :meth:`to_state` gave."""
        return cls(fields["words"], arrays["idf"], arrays["components"])


def _vectorizer(**more: Any) -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", **more)
