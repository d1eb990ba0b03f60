"""Calls of every public operation as text with typed holes, for the programs of `programs_operations.py`.

`«a¦b»` is one of the alternatives, the first being the simplest. Holes, where a dimension is a number, a letter (drawn
once for the call) or a sum or product of these:

- `{n,m}` a float array of that shape, recorded as a rule; `{S}` one of the shape that is asked for, or any, all of
  them alike; `{X}` a scalar, `{T}` a threshold;
- `{!n}` a literal array of floats, `{?n,m}` one of booleans, `{#k:n}` a list of `k` indices below `n`;
- `{=n*m}` the number, `{@-2:n}` a whole number from -2 to n.

Smooth and defined everywhere for operands of ordinary size, but for the kinks that are the operation's own.
"""

from __future__ import annotations

ELEMENTWISE = {
    "add": "ops.add({S}, «{S}¦{X}¦0.5»)",
    "sub": "ops.sub(«{S}¦{X}¦1.5», {S})",
    "mul": "ops.mul({S}, «{S}¦{X}¦-0.7»)",
    "div": "ops.div({S}, «1.5 + {S} ** 2¦2.0 + ops.sin({X})¦2.0»)",
    "neg": "ops.neg({S})",
    "scale": "ops.scale({S}, «0.5¦c=-1.5¦3¦np.float64(0.25)»)",
    "abs": "ops.abs({S})",
    "sqrt": "ops.sqrt(«0.1 + {S} ** 2¦1.5 + ops.sin({S})¦{S}»)",
    "inv": "ops.inv(2.0 + ops.sin({S}))",
    "clamp": "ops.clamp({S}, «-1.0537, 0.9531¦lo=-0.4519, hi=1.7519¦0.2513, np.inf¦0.5, -0.5»)",
    "max": "ops.max({S}, «{S}¦{X}¦0.2513»)",
    "min": "ops.min(«{S}¦{X}¦0.6529», {S})",
    "exp": "ops.exp(«-ops.abs({S})¦ops.sin({S})»)",
    "log": "ops.log(«1.5 + {S} ** 2¦ops.softplus({S})»)",
    "sin": "ops.sin({S})",
    "cos": "ops.cos({S})",
    "tanh": "ops.tanh({S})",
    "relu": "ops.relu({S})",
    "sigmoid": "ops.sigmoid({S})",
    "silu": "ops.silu({S})",
    "gelu": "ops.gelu({S})",
    "softplus": "ops.softplus({S})",
    "safe_log": "ops.safe_log({S}«¦, 0.1¦, epsilon=0.01»)",
    "softmax_last": "ops.softmax_last({S})",
    "log_softmax_last": "ops.log_softmax_last({S})",
    "top_k_mask": "(ops.top_k_mask({S}, {@0:3}) * {S})",
    "detach": "(«ops.detach({S}) * {S}¦{S} - ops.detach({S})¦{S} * ops.detach({X})»)",
    "observe": "(«ops.observe({X}) * {S}¦{S} if ops.observe({X}) > {T} else 0.5 * {S}»)",
    "const": "(«ops.const(0.5) * {S}¦ops.const({!}) + {S}»)",
}

SHAPED = {
    "data_const": "«{n}[ops.data_const({#2:n})]¦np.where(ops.data_const({?n}), {n}, {n})¦"
    "ops.index_select({n}, ops.data_const({#3:n}), 0)¦(ops.data_const({#n:3}) * {n})»",
    "map_data": "«(ops.map_data(np.square, {!n}) * {n})¦np.where(ops.map_data(lambda t: t > 0.1, {!n}), {n}, {X})¦"
    "({n} + ops.map_data(np.cumsum, {!n}))»",
    "update_buffers": "(kept({n«¦,m»}) * {X})",
    "broadcast_to": "«ops.broadcast_to({m}, ({=n}, {=m}))¦ops.broadcast_to({n,1}, [{=n}, {=m}])¦"
    "ops.broadcast_to({X}, «({=n},)¦{=n}»)¦ops.broadcast_to({1,m}, shape=(2, {=n}, {=m}))»",
    "reshape": "ops.reshape(«{n,m}¦{2,n,m}[0]», «({=m}, {=n})¦-1¦[{=n*m}, 1]¦({=n}, 1, -1)»)",
    "flatten": "ops.flatten(«{n,m}¦{n}¦{2,n,m}¦{X}»)",
    "swap_adjacent_at_depth": "ops.swap_adjacent_at_depth(«{n,m}, 0¦{2,n,m}, {@0:1}»)",
    "reduce_sum": "ops.reduce_sum(«{n,m}, {@-2:1}¦{n}, axis=0¦{2,n,m}, {@-3:2}»)",
    "reduce_mean": "ops.reduce_mean(«{n,m}, {@-2:1}¦{n}, axis=-1¦{2,n,m}, {@-3:2}»)",
    "sum": "ops.sum(«{n,m}¦{n}¦{2,n,m}¦{X}»)",
    "select": "ops.select(«{n,m}, {@-n:n-1}, 0¦{n,m}, {@-m:m-1}, axis=-1¦{n}, {@0:n-1}, 0¦{2,n,m}, -1, {@-3:2}»)",
    "index_select": "ops.index_select(«{n,m}, {#k:n}, 0¦{n,m}, {#k:m}, -1¦{n}, np.array({#3:n}), axis=0¦"
    "{n,m}, [], 0¦{2,n,m}, {#k:n}, 1»)",
    "scatter_add": "ops.scatter_add(«{n,m}, {k,m}, {#k:n}, 0¦{n,m}, {n,k}, {#k:m}, axis=-1¦{n}, {k}, {#k:n}, 0¦"
    "np.zeros({=n}), {3}, {#3:n}, 0»)",
    "concat": "ops.concat(«{n,m}, {k,m}¦{n}, {k}¦{2,n,m}, {k,n,m}»)",
    "slice": "ops.slice(«{n+1,m}, {@0:1}, {@0:n}¦{n+1}, 1, length={@0:n}»)",
    "matmul": "ops.matmul(«{n,k}, {k,m}¦{2,n,k}, {k,m}¦{n,k}, {2,k,m}¦{2,n,k}, {1,k,m}»«¦, 0.5¦, scale=-1.5»)",
    "softmax_matmul": "«ops.softmax_matmul({n,k}, {k,m}, {n,k}«¦, {?n,k}»)¦"
    "ops.softmax_matmul({2,n,k}, {2,k,m}, {2,n,k}«¦, mask={?n,k}»)»",
    "linear": "ops.linear({n,m}, {n}, {m})",
    "mse_loss": "ops.mse_loss(«{n,m}, {n,m}¦{n}, {n}¦{X}, {X}»)",
    "cross_entropy": "ops.cross_entropy(«{n,m}, «np.eye({=n}, {=m})¦{n,m}¦ops.softmax_last({n,m})», {@-2:1}¦"
    "{n}, {n}, 0¦{2,n,m}, {2,n,m}, {@-3:2}»«¦, mean=False»)",
    "distill": "ops.distill(«{n,m}, {n,m}, {@-2:1}¦{n}, {n}, axis=0¦{2,n,m}, {2,n,m}, {@-3:2}»)",
    "layer_norm": "ops.layer_norm({n,m+1}, {m+1}, {m+1}, «0.1¦epsilon=0.01»)",
    "batch_norm": "ops.batch_norm({n,m+1«¦,2»}, {n}, {n}, «0.1¦epsilon=0.01»)",
    "attention": "ops.attention({n,2*h}, {n,2*h}, {n,2*h}, {2*h,n}, «{m,n}¦{2,m,n}», «2¦1»"
    "«¦, mask={?m,m}¦, np.tri({=m}) > 0.5»)",
    "conv": "ops.conv(«{m,n,k}, {m}, «{n,2+k}¦{2,n,1+k}»«¦, {@1:2}»«¦, padding={@0:2}»¦"
    "{m,1,2,k}, {m}, {1,n+1,m+k}«¦, (1, 2)¦, stride=2»«¦, padding=[1, 0]»»)",
    "conv_transpose": "ops.conv_transpose(«{m,n,k}, {n}, «{m,2}¦{2,m,2}»«¦, {@1:3}»«¦, padding={@0:k//2}»¦"
    "{m,1,2,k}, {1}, {m,2,2}«¦, (1, 2)¦, stride=2»«¦, padding=[1, 0]»»)",
    "max_pool": "ops.max_pool(«{n,m+k}, {=k}«¦, {@1:2}»«¦, padding={@0:k//2}»¦"
    "{2,n+1,m+1}, 2«¦, (1, 2)¦, stride=1»«¦, padding=(1, 0)»¦{2,n,3,m+1}, (2, 2)«¦, 1»»)",
    "avg_pool": "ops.avg_pool(«{n,m+k}, {=k}«¦, {@1:2}»«¦, padding={@0:k//2}»¦"
    "{2,n+1,m+1}, 2«¦, (1, 2)¦, stride=1»«¦, padding=(1, 0)»¦{2,n,3,m+1}, (2, 2)«¦, 1»»)",
    "smooth_max_pool": "ops.smooth_max_pool(«{n,m+k}, {=k}, «1.5¦-0.7»«¦, {@1:2}»«¦, padding={@0:k//2}»¦"
    "{2,n+1,m+1}, 2, beta=2.0«¦, padding=(1, 0)»¦{2,n,3,m+1}, (2, 2), -1.5«¦, 1»»)",
    "rand_uniform": "(ops.rand_uniform(«({=n}, {=m}), 7¦[{=n}, {=m}], seed=7, node=1¦({=n}, 1), 3, dtype='float32'»)"
    " * {n,m})",
    "bernoulli_mask": "(ops.bernoulli_mask(«0.5¦{X}¦ops.sigmoid({X})», ({=n}, {=m}), 7«¦, node=1») * {n,m})",
    "rfft1d": "ops.rfft1d({«n¦2»,m})",
    "irfft1d": "ops.irfft1d({n,m//2+1,2}, {=m})",
    "selective_scan_diag": "ops.selective_scan_diag({m}, {m}, {n,m}, {m})",
    "selective_scan_diag_var": "ops.selective_scan_diag_var({n,m}, {n,m}, {n,m}, {m})",
}

FORMS = ELEMENTWISE | SHAPED
