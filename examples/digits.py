"""Handwritten digits, read by a two-layer network: the loss is plain NumPy, its gradient feeds SciPy's L-BFGS.

    python examples/digits.py [--out digits.png] [--iterations 150]

Prints the accuracy on digits held out of the training, and saves a plot of the loss and some predictions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file is written, no window opened

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

from autograd_frontend import record, value_and_grad

PIXELS, HIDDEN, CLASSES = 64, 32, 10
SIZE = PIXELS * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES
WEIGHT_DECAY = 1e-3


def unpack(params):
    """The two layers' weights and biases, as views of one flat vector."""
    a, b, c = PIXELS * HIDDEN, HIDDEN, HIDDEN * CLASSES
    w1 = params[:a].reshape(PIXELS, HIDDEN)
    b1 = params[a : a + b]
    w2 = params[a + b : a + b + c].reshape(HIDDEN, CLASSES)
    b2 = params[a + b + c :]
    return w1, b1, w2, b2


def scores(params, images):
    """One row of ten scores per image, (n, 10)."""
    w1, b1, w2, b2 = unpack(params)
    return np.tanh(images @ w1 + b1) @ w2 + b2


@record
def loss(params, images, labels):
    """Mean cross-entropy plus weight decay."""
    out = scores(params, images)
    top = np.max(out, axis=1, keepdims=True)
    log_total = np.log(np.sum(np.exp(out - top), axis=1)) + top[:, 0]
    chosen = out[np.arange(len(labels)), labels]
    return np.mean(log_total - chosen) + 0.5 * WEIGHT_DECAY * np.sum(params**2)


def train(images, labels, iterations):
    """The trained parameters, and the loss after every iteration."""
    start = 0.1 * np.random.default_rng(0).normal(size=SIZE)
    history = []
    with tqdm(total=iterations, desc="training", unit="step") as bar:

        def progress(intermediate_result):
            history.append(float(intermediate_result.fun))
            bar.set_postfix(loss=f"{history[-1]:.4f}", refresh=False)
            bar.update()

        fit = minimize(
            value_and_grad(loss),
            start,
            args=(images, labels),
            jac=True,
            method="L-BFGS-B",
            callback=progress,
            options={"maxiter": iterations},
        )
    return fit.x, history


def draw(path, history, images, labels, predicted):
    """Save the loss curve beside twelve held-out digits with their predictions."""
    figure = plt.figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(np.arange(1, len(history) + 1), history)
    axes.set(xlabel="L-BFGS iteration", ylabel="loss", title="training")
    for panel, image, label, guess in zip(right.subplots(3, 4).flat, images, labels, predicted, strict=False):
        panel.imshow(image.reshape(8, 8), cmap="gray_r")
        panel.set_title(f"read as {guess}", color="black" if guess == label else "red", fontsize=9)
        panel.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    """Train, report, draw; returns the accuracy on held-out digits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("digits.png"), help="the plot's file (default: digits.png)")
    parser.add_argument("--iterations", type=int, default=150, help="L-BFGS iterations at most (default: 150)")
    options = parser.parse_args(arguments)

    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16.0, labels, test_size=0.25, random_state=0, stratify=labels)
    train_images, test_images, train_labels, test_labels = split

    params, history = train(train_images, train_labels, options.iterations)
    predicted = np.argmax(scores(params, test_images), axis=1)
    accuracy = float(np.mean(predicted == test_labels))
    print(f"loss {history[0]:.3f} -> {history[-1]:.3f} in {len(history)} iterations")
    print(f"accuracy on {len(test_labels)} held-out digits: {100 * accuracy:.1f} %")
    draw(options.out, history, test_images, test_labels, predicted)
    print(f"plot saved to {options.out}")
    return accuracy


if __name__ == "__main__":
    main()
