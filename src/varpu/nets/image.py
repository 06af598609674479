"""The paper's three networks for images; ReLU throughout, two outputs each.

Layer sizes are those of the authors' published program. Each takes float images ``(B, C, H, W)``.
"""

from torch import Tensor, nn

from varpu.nets import cifar_trunk
from varpu.nets.conv import ConvPoolReLU, ConvReLU, DenseConv


class LeNet5(nn.Sequential):
    """For 28 x 28 grey images (FashionMNIST): LeNet-5 with batch norm on its dense layer."""

    input_shape = (1, 28, 28)

    def __init__(self) -> None:
        super().__init__(
            ConvPoolReLU(1, 6, 5, padding=2),
            ConvPoolReLU(6, 16, 5),
            DenseConv(16, 120, 5),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(120, 84),
            nn.BatchNorm1d(84),
            nn.ReLU(),
            nn.Linear(84, 2),
        )


class CifarCNN(nn.Sequential):
    """For 32 x 32 colour images (CIFAR-10): four convolutions and three dense layers."""

    input_shape = (3, 32, 32)

    def __init__(self) -> None:
        super().__init__(
            ConvReLU(3, 96, 3),
            ConvReLU(96, 96, 3, stride=2),
            ConvReLU(96, 192, 1),
            ConvReLU(192, 10, 1),
            nn.Flatten(),
            nn.Linear(10 * 14 * 14, 1000),
            nn.ReLU(),
            nn.Linear(1000, 1000),
            nn.ReLU(),
            nn.Linear(1000, 2),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Two outputs a row, shape (B, 2)."""
        if not cifar_trunk.takes(x):
            return super().forward(x)
        x = cifar_trunk.trunk(list(self)[:4], x)
        for dense in list(self)[5:]:
            x = dense(x)
        return x


class StlCNN(nn.Sequential):
    """For 96 x 96 colour images (STL-10): four convolutions and three dense layers."""

    input_shape = (3, 96, 96)

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 6, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 6, 3),
            nn.ReLU(),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 8 * 8, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 2),
        )
