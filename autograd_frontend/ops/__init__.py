"""The operations, a file a family. Importing this registers them all, and gives those of the interface by name:
`ops.gelu(x)` evaluates on plain arrays, and is recorded inside a recorded function."""

from . import (
    arithmetic,
    complex_parts,
    contraction,
    creation,
    curves,
    decompositions,
    elementwise,
    extremes,
    factors,
    joining,
    lanes,
    linalg,
    moving,
    norms,
    reductions,
    rows,
    scans,
    selection,
    shapes,
    solving,
    sorting,
    special,
    spectral,
    statistics,
    trigonometry,
    ufuncs,
    windows,
)  # fmt: skip
from .activations import gelu, relu, safe_log, sigmoid, silu, softplus
from .arithmetic import abs_ as abs
from .arithmetic import add, div, inv, mul, neg, scale, sub
from .attending import attention, softmax_matmul
from .convolution import conv, conv_transpose
from .data import const, data_const, detach, map_data, observe, update_buffers
from .elementwise import exp, log, sqrt
from .entries import (
    broadcast_to,
    concat,
    flatten,
    index_select,
    reduce_mean,
    reduce_sum,
    reshape,
    scatter_add,
    select,
    swap_adjacent_at_depth,
    top_k_mask,
)
from .entries import slice_ as slice
from .entries import sum_ as sum
from .fourier import irfft1d, rfft1d
from .losses import cross_entropy, distill, mse_loss
from .normalization import batch_norm, layer_norm
from .pooling import avg_pool, max_pool, smooth_max_pool
from .products import linear, matmul
from .random import bernoulli_mask, rand_uniform
from .recurrences import selective_scan_diag, selective_scan_diag_var
from .rows import log_softmax_last, softmax_last
from .selection import clamp
from .selection import maximum as max
from .selection import minimum as min
from .trigonometry import cos, sin, tanh
