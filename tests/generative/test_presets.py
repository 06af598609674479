import pytest

from varpu.exceptions import PUInputError
from varpu.generative import GAMES, genpu_preset

# The paper's Table 9, line by line.
TABLE_9 = {
    "fashion_mnist": [(0.01, 1, 100, 1), (0.01, 1, 1000, 50)],
    "cifar10": [(0.01, 1, 100, 1), (0.01, 1, 100, 1)],
    "page_blocks": [(0.01, 1, 1000, 1), (0.01, 1, 200, 1)],
    "grid_stability": [(0.01, 1, 1000, 500), (0.01, 1, 1000, 500)],
    "avila": [(0.01, 1, 100, 1), (0.001, 1, 1000, 500)],
}


@pytest.mark.parametrize("data", TABLE_9)
@pytest.mark.parametrize("task", [1, 2])
def test_presets_are_table_9(data, task):
    expected = dict(zip(GAMES, TABLE_9[data][task - 1], strict=True))
    assert genpu_preset(f"{data}_{task}") == expected


def test_a_preset_is_the_caller_s_own():
    genpu_preset("avila_1")["positive_p"] = 5
    assert genpu_preset("avila_1")["positive_p"] == 0.01


def test_an_unknown_preset_says_what_there_is():
    with pytest.raises(
        PUInputError, match="there is no preset 'avila'; there are avila_1, avila_2"
    ):
        genpu_preset("avila")
