"""Readers with a color vision deficiency can distinguish the colors that carry meaning."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from cfrbook.plot import COLORS

CSS = (Path(__file__).parents[3] / "book" / "_static" / "book.css").read_text("utf-8")
DATA = ("regret", "strategy", "value", "reach")
# Machado, Oliveira & Fernandes (2009), severity 1.0, on linear RGB
SIMULATIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)
WHITE = np.array([0.9505, 1.0, 1.089])


def palette(selector):
    """Return the palette that the CSS rule of a theme defines."""
    rule = CSS[CSS.index(f"{selector} {{") :].partition("}")[0]
    return dict(re.findall(r"--cfr-(\w+): (#\w{6})", rule))


def linear(color):
    """Convert #rrggbb to linear RGB."""
    rgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Convert linear RGB to CIE L*a*b*."""
    ratio = TO_XYZ @ rgb / WHITE
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", ['html:not([data-theme="dark"])', 'html[data-theme="dark"]'])
@pytest.mark.parametrize("vision", SIMULATIONS)
def test_colors_differ_pairwise(theme, vision):
    colors = palette(theme)
    seen = {
        name: lab(np.clip(SIMULATIONS[vision] @ linear(colors[name]), 0, 1)) for name in DATA
    }
    for a, b in itertools.combinations(DATA, 2):
        assert np.linalg.norm(seen[a] - seen[b]) >= 10, (a, b)


def test_light_palette_equals_the_palette_of_figures():
    light = palette('html:not([data-theme="dark"])')
    assert all(light[name] == COLORS[name].lower() for name in DATA)
