"""How the experiments write numbers: with few digits, and with an interval."""

import numpy as np


def digits(number, places=4):
    """Round a number to `places` significant digits; later ones may depend on the machine."""
    return float(f"{number:.{places}g}")


def interval(values, cluster=None):
    """Return the mean and half the width of its 95 % interval; values of a cluster are one."""
    values = np.asarray(values, float)
    n, mean = len(values), values.mean()
    if cluster is None:
        cluster = np.arange(n)
    _, place = np.unique(cluster, return_inverse=True)
    off = np.bincount(place, values - mean)
    half = 1.96 * np.sqrt((off**2).sum() * len(off) / max(1, len(off) - 1)) / n
    return [digits(mean), digits(half)]
