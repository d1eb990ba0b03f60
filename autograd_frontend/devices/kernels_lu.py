"""Determinants of stacks of small matrices, a block for each: elimination with row exchanges, as LAPACK's."""

from __future__ import annotations

import math
from typing import Any

from .expressions import Launch
from .kernels import BLOCKS, NAMES, Writer, is_wide

LARGEST = 128  # rows up to which one block is enough
BLOCK = 128

# Rows are exchanged for the largest entry of a column, the first of several. A zero column leaves the sign 0 and the
# logarithm -inf.
TEXT = """
  __shared__ T sizes[@B];
  __shared__ int places[@B];
  for (I m = blockIdx.x; m < count; m += gridDim.x) {
    T* x = a + m * rows * rows;
    T s = (T)1, sum = (T)0;
    for (I k = 0; k < rows; ++k) {
      T size = (T)-1; int place = k;
      for (I r = k + threadIdx.x; r < rows; r += blockDim.x) {
        const T v = x[r * rows + k] < 0 ? -x[r * rows + k] : x[r * rows + k];
        if (v > size || (v != v && size == size)) { size = v; place = r; }
      }
      sizes[threadIdx.x] = size; places[threadIdx.x] = place;
      __syncthreads();
      for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
          const T p = sizes[threadIdx.x], q = sizes[threadIdx.x + half];
          const bool tie = q == p || (q != q && p != p);
          if (q > p || (q != q && p == p) || (tie && places[threadIdx.x + half] < places[threadIdx.x])) {
            sizes[threadIdx.x] = q; places[threadIdx.x] = places[threadIdx.x + half];
          }
        }
        __syncthreads();
      }
      const int from = places[0];
      __syncthreads();
      if (from != k) {
        s = -s;
        for (I c = threadIdx.x; c < rows; c += blockDim.x) {
          const T v = x[k * rows + c]; x[k * rows + c] = x[from * rows + c]; x[from * rows + c] = v;
        }
      }
      __syncthreads();
      const T pivot = x[k * rows + k];
      s = pivot == 0 ? (T)0 : pivot < 0 ? -s : s;
      sum = sum + log(pivot < 0 ? -pivot : pivot);
      if (pivot == 0) break;
      for (I r = k + 1 + threadIdx.x; r < rows; r += blockDim.x) x[r * rows + k] = x[r * rows + k] / pivot;
      __syncthreads();
      const I left = rows - k - 1;
      for (I e = threadIdx.x; e < left * left; e += blockDim.x) {
        const I r = k + 1 + e / left, c = k + 1 + e % left;
        x[r * rows + c] = x[r * rows + c] - x[r * rows + k] * x[k * rows + c];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) { sign[m] = s; logarithm[m] = sum; }
    __syncthreads();
  }
"""


def slogdet(a: Any, sign: Any, logarithm: Any) -> Launch:
    """Sign and logarithm of the determinants of contiguous `a`, `[..., n, n]` of floats, which is overwritten."""
    w = Writer("slogdet", is_wide(a))
    element = NAMES[a.dtype.name]
    for name, x in (("a", a), ("sign", sign), ("logarithm", logarithm)):
        w.pointer(name, element, x, True)
    count = math.prod(a.shape[:-2])
    w.number("rows", a.shape[-1])
    w.number("count", count)
    kernel = w.kernel(lambda: (f"typedef {element} T;\n", TEXT.replace("@B", str(BLOCK))), (), barriers=True)
    return Launch(kernel, min(BLOCKS, count), BLOCK, tuple(w.arguments))
