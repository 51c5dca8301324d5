"""The block of MobileNetV2 and its successors: a map is widened, convolved channel by channel, and narrowed again."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, nn

from ftt.backbones.chain import chained, is_trained
from ftt.backbones.depthwise import Depthwise, is_depthwise
from ftt.backbones.expansion import Widened, worthwhile
from ftt.backbones.normalized import Normalized
from ftt.backbones.pieces import in_pieces
from ftt.backbones.pointwise import Pointwise


class InvertedResidual(nn.Module):
    """timm's block of this name with the same layers; it differs only while it is trained on a CPU."""

    def __init__(
        self,
        *,
        conv_pw: Pointwise,
        bn1: nn.BatchNorm2d,
        conv_dw: Depthwise,
        bn2: nn.BatchNorm2d,
        conv_pwl: Pointwise,
        bn3: nn.BatchNorm2d,
        has_skip: bool,
    ) -> None:
        super().__init__()
        self.conv_pw, self.bn1 = conv_pw, bn1
        self.conv_dw, self.bn2 = conv_dw, bn2
        self.conv_pwl, self.bn3 = conv_pwl, bn3
        # What timm's block may have between these layers.
        self.aa, self.se, self.drop_path = nn.Identity(), nn.Identity(), nn.Identity()
        self.has_skip = has_skip
        self.widened = conv_pw.out_channels

    @staticmethod
    def suits(block: Any) -> bool:
        """Whether a block of timm's can be replaced; what it allows besides is rare."""
        return (
            block.conv_s2d is None
            and all(Pointwise.suits(layer) and layer.bias is None for layer in (block.conv_pw, block.conv_pwl))
            and is_depthwise(block.conv_dw)
            and block.conv_dw.bias is None
            and _suits(block.bn1, nn.ReLU6)
            and _suits(block.bn2, nn.ReLU6)
            and _suits(block.bn3, nn.Identity)
            and all(isinstance(layer, nn.Identity) for layer in (block.aa, block.se, block.drop_path))
        )

    @classmethod
    def like(cls, block: nn.Module) -> Self:
        """A block that shares the layers of another one."""
        made = cls.__new__(cls)
        made.__dict__.update(block.__dict__)
        made.widened = made.conv_pw.out_channels
        return made

    def forward(self, x: Tensor) -> Tensor:
        norms = self.bn1, self.bn2, self.bn3
        if is_trained(x, *norms):
            return chained(x, self._links(x), skip=self.has_skip)
        return in_pieces(self._narrowed, x, self.widened * x.shape[2] * x.shape[3], norms)

    def _narrowed(self, x: Tensor) -> Tensor:
        wide = self.bn1(self.conv_pw(x))
        narrow: Tensor = self.bn3(self.conv_pwl(self.bn2(self.conv_dw(wide))))
        return narrow + x if self.has_skip else narrow

    def _links(self, x: Tensor) -> list[Normalized]:
        first = Widened if worthwhile(x) else Normalized
        return [
            first(self.conv_pw, self.bn1, clips=True),
            Normalized(self.conv_dw, self.bn2, clips=True),
            Normalized(self.conv_pwl, self.bn3, clips=False),
        ]


def _suits(norm: Any, activation: type[nn.Module]) -> bool:
    return (
        isinstance(norm, nn.BatchNorm2d)
        and norm.affine
        and norm.track_running_stats
        and norm.momentum is not None
        and isinstance(norm.act, activation)
        and isinstance(norm.drop, nn.Identity)
    )
