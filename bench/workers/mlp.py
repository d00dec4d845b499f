"""The functions of bench/mlp.lua for PyTorch."""
import torch

RATE = 1e-9
NETWORKS = {}


def network(layout):
    if layout in NETWORKS:
        return NETWORKS[layout]
    torch.manual_seed(0)
    sizes = [int(size) for size in layout.split("-")]
    layers = []
    for size, to in zip(sizes, sizes[1:]):
        if layers:
            layers.append(torch.nn.ReLU())
        layers.append(torch.nn.Linear(size, to))
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)
    NETWORKS[layout] = net, torch.nn.CrossEntropyLoss(), optimizer
    return NETWORKS[layout]


def infer(layout, x):
    with torch.no_grad():
        return network(layout)[0](x)


def gradients(layout, x, y):
    net, criterion, optimizer = network(layout)
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    return net[0].weight.grad


def learn(layout, x, y):
    net, criterion, optimizer = network(layout)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def reset():
    NETWORKS.clear()
