"""The functions of bench/cases/networks.lua for PyTorch."""
import torch
from torch import nn
from torch.nn import functional as F

RATE = 1e-9
MADE = {}


# -- Networks -----------------------------------------------------------------

def mlp(layout):
    sizes = [int(size) for size in layout.split("-")]
    layers = []
    for size, to in zip(sizes, sizes[1:]):
        if layers:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(size, to))
    return nn.Sequential(*layers)


def cnn():
    def block(size, to):
        return [nn.Conv2d(size, to, 3, padding=1), nn.BatchNorm2d(to),
                nn.ReLU()]
    return nn.Sequential(
        *block(3, 32), *block(32, 64), nn.MaxPool2d(2), *block(64, 64),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 8 * 8, 10))


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(64, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


# -- A decoder ----------------------------------------------------------------

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, x):
        n, steps, width = x.shape
        parts = self.attention(self.norm1(x))
        parts = parts.view(n, steps, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(n, steps, width))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, width, heads, depth):
        super().__init__()
        self.tokens = nn.Embedding(96, width)
        self.places = nn.Embedding(128, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 96)

    def forward(self, x):
        y = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y)).flatten(0, -2)


MAKERS = {
    "mlp": lambda: mlp("784-512-512-10"), "cnn": cnn,
    "cnn, channels_last": lambda: cnn().to(memory_format=torch.channels_last),
    "gru": Gru, "gpt 1M": lambda: Gpt(128, 4, 5),
    "gpt 10M": lambda: Gpt(384, 6, 6),
}


# -- Functions of cases -------------------------------------------------------

def network(name):
    if name in MADE:
        return MADE[name]
    torch.manual_seed(0)
    net = MAKERS[name]() if name in MAKERS else mlp(name)
    if name in MAKERS:
        optimizer = torch.optim.AdamW(net.parameters(), lr=RATE)
    else:
        optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)
    MADE[name] = net, nn.CrossEntropyLoss(), optimizer
    return MADE[name]


def infer(name, x):
    net = network(name)[0]
    if net.training:
        net.eval()
    with torch.inference_mode():
        return net(x)


def gradients(name, x, y):
    net, criterion, optimizer = network(name)
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    return net[0].weight.grad


def learn(name, x, y):
    net, criterion, optimizer = network(name)
    loss = criterion(net(x), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


INPUTS = {
    "mlp": (128, 784), "cnn": (32, 3, 32, 32),
    "cnn, channels_last": (32, 3, 32, 32), "gru": (32, 32, 64),
    "gpt 1M": (8, 128), "gpt 10M": (4, 128),
}


def train(name, steps):
    """Takes training steps with inputs of the sizes that cases.lua has."""
    sizes = INPUTS[name]
    is_text = name.startswith("gpt")
    x = torch.randint(96, sizes) if is_text else torch.rand(sizes)
    if "channels_last" in name:
        x = x.contiguous(memory_format=torch.channels_last)
    y = x if is_text else torch.randint(10, sizes[:1])
    for _ in range(steps):
        learn(name, x, y)


def reset():
    MADE.clear()
