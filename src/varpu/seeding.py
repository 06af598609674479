"""Seeds, where several processes fit one model."""

import numpy as np
from sklearn.utils import check_random_state

from varpu.world import current_world


def random_of(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """The generator that decides a fit; processes that fit together have the first one's."""
    random = check_random_state(random_state)
    if current_world().is_alone or isinstance(random_state, int | np.integer):
        return random
    return np.random.RandomState(current_world().from_first(int(random.randint(2**31 - 1))))
