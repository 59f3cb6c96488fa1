"""The loss of a recurrent network, of LSTM layers, that predicts a text bit by bit."""

from itertools import pairwise

import cadiff.numpy as np
from cadiff.numpy import exp, tanh


def sigmoid(x):
    return 1.0 / (1.0 + exp(-x))


def loss(parameters, state, text):
    """The mean negative log-likelihood of each character, given those before it."""
    layers, bits = len(state) // 2, text.shape[1]
    gates = parameters[: -3 * bits].reshape(layers, 2, 4, bits)
    into, out, bias = parameters[-3 * bits :].reshape(3, bits)
    hidden, cell = list(state[::2]), list(state[1::2])
    total = 0.0
    for character, following in pairwise(text):
        x = character * into
        for i in range(layers):
            hidden[i], cell[i] = step(gates[i], x, hidden[i], cell[i])
            x = hidden[i]
        predicted = x * out + bias
        total += np.sum(following * (predicted - np.log(2.0 + np.sum(exp(predicted)))))
    return -total / (bits * (len(text) - 1))


def step(gates, x, hidden, cell):
    """A layer whose matrices are diagonal: two of its gates see the input, two the state."""
    (forget, ingate, outgate, change), b = gates
    kept = cell * sigmoid(x * forget + b[0])
    taken = sigmoid(hidden * ingate + b[1]) * tanh(hidden * change + b[3])
    cell = kept + taken
    return sigmoid(x * outgate + b[2]) * tanh(cell), cell


def arguments(input):
    parameters = np.concatenate([np.ravel(input["main_params"]), np.ravel(input["extra_params"])])
    return parameters, np.array(input["state"]), np.array(input["sequence"])


def functions(compiled):
    program = compiled(loss)
    return {"objective": program, "jacobian": program.grad}
