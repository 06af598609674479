"""What a network's output means."""

import pytest
import torch

from varpu.nets import Stack, logit


def test_one_output_a_row_is_the_logit():
    output = torch.tensor([0.5, -2.0])
    assert torch.equal(logit(output), output)
    assert torch.equal(logit(output.unsqueeze(1)), output)


def test_two_outputs_are_a_softmax_whose_second_is_the_positive_class():
    output = torch.tensor([[0.0, 3.0], [2.0, -1.0], [0.25, 0.25]], dtype=torch.float64)
    expected = output.log_softmax(dim=1)[:, 1]
    torch.testing.assert_close(torch.nn.functional.logsigmoid(logit(output)), expected)


@pytest.mark.parametrize("shape", [(), (4, 3), (4, 0), (4, 1, 1), (4, 2, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"got \("):
        logit(torch.zeros(shape))


def test_a_stack_must_say_what_its_states_are():
    with pytest.raises(TypeError, match="Stack must define states"):
        Stack().states()
