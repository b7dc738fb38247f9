"""PyTorch's door: torch.compile and exported programs against eager, within the roundings of f32."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from graph import ModelError, compile_model  # noqa: E402

NN = torch.nn
# Outputs lie within 8, sums have 64 products at most, and few layers follow each other: 1,000 roundings.
NEAR = 8 * 1000 * 2**-24


class Network(NN.Module):
    """A small CNN with a batch norm, a residual and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = NN.Conv2d(3, 16, 3, stride=2, padding=1), NN.BatchNorm2d(16)
        self.block, self.classes = NN.Conv2d(16, 16, 3, padding=1), NN.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.stem(x)))
        x = torch.relu(self.block(x) + x)
        return self.classes(torch.max_pool2d(x, 2).mean((2, 3)))


class Block(NN.Module):
    """A transformer's block: attention of 4 heads, and two layers with GELU."""

    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = NN.LayerNorm(width), NN.LayerNorm(width)
        self.qkv, self.out = NN.Linear(width, 3 * width), NN.Linear(width, width)
        self.up, self.down = NN.Linear(width, 2 * width), NN.Linear(2 * width, width)

    def forward(self, x):
        batch, rows, width = x.shape
        q, k, v = self.qkv(self.first(x)).reshape(batch, rows, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(found.transpose(1, 2).reshape(batch, rows, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.compiler.reset()


def near(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted.detach().numpy(), rtol=0, atol=NEAR)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shape"), [(Network, (2, 3, 16, 16)), (Block, (1, 12, 32))])
def test_a_model_is_compiled_by_name(kind, shape):
    model = kind().eval()
    compiled = torch.compile(model, backend="tilewright")
    with torch.no_grad():
        x = torch.randn(shape)
        near(compiled(x), model(x))
        more = torch.randn(shape[0] + 1, *shape[1:])
        near(compiled(more), model(more))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shape"), [(Network, (2, 3, 16, 16)), (Block, (1, 12, 32))])
def test_an_exported_program_is_a_model(kind, shape):
    model = kind().eval()
    x = torch.randn(shape)
    (y,) = compile_model(torch.export.export(model, (x,)))(x.numpy())
    near(y, model(x))


@pytest.mark.slow
def test_changed_parameters_are_seen():
    model = NN.Linear(4, 3)
    compiled = torch.compile(model, backend="tilewright")
    x = torch.randn(2, 4)
    with torch.no_grad():
        before = compiled(x)
        model.weight.mul_(2)
        near(compiled(x), model(x))
    assert not torch.equal(before, model(x))


@pytest.mark.slow
def test_gradients_are_refused():
    with pytest.raises(ModelError, match=r"computes no gradients: call the model under torch.no_grad\(\)"):
        torch.compile(NN.Linear(4, 3), backend="tilewright")(torch.randn(2, 4))
