// CUDA for g++: the words that kernel texts use, with every thread of a block as a fiber.
//
// A block runs its threads one after another, each until it waits: at a barrier of the block, or in a shuffle for its
// warp. When all 32 of a warp (or all of the block) wait, they go on. The order of the threads, and of the blocks, is
// chosen: 0 upwards, 1 downwards, 2 shuffled at every turn. A kernel whose results depend on it lacks a barrier.
// What this cannot show: CUDA's own sin, exp, ... (glibc's are called), speed, and what blocks see of each other.
#pragma once
#define CUDA_ON_CPU
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <numeric>
#include <utility>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __syncwarp(...) sim::wait(sim::WARP)

static struct dim3 { unsigned x = 1, y = 1, z = 1; } threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

namespace sim {
enum State { READY, BLOCK, WARP, DONE };
struct Fiber { ucontext_t at; std::vector<char> stack; State state; };
static std::vector<Fiber> fibers;
static ucontext_t home;
static Fiber* me;
static void (*body)();
static uint64_t lanes[1024];
static int failed;
static uint32_t dice;

static void entry() { body(); me->state = DONE; swapcontext(&me->at, &home); }

static void wait(State why) {
    Fiber* f = me;
    f->state = why;
    swapcontext(&f->at, &home);
}

static void start(unsigned n) {
    if (fibers.size() < n) fibers.resize(n);
    for (unsigned t = 0; t < n; ++t) {
        Fiber& f = fibers[t];
        f.stack.resize(65536);
        getcontext(&f.at);
        f.at.uc_stack.ss_sp = f.stack.data();
        f.at.uc_stack.ss_size = f.stack.size();
        f.at.uc_link = &home;
        makecontext(&f.at, entry, 0);
        f.state = READY;
    }
}

static void reorder(std::vector<unsigned>& turns, int order) {
    if (order == 1) std::sort(turns.begin(), turns.end(), [](unsigned a, unsigned b) { return a > b; });
    if (order == 2)
        for (size_t k = turns.size(); k > 1; --k) {
            dice = dice * 1664525u + 1013904223u;
            std::swap(turns[k - 1], turns[(dice >> 8) % k]);
        }
}

static void block(unsigned n, int order) {
    start(n);
    std::vector<unsigned> turns(n);
    std::iota(turns.begin(), turns.end(), 0u);
    for (;;) {
        reorder(turns, order);
        for (unsigned t : turns)
            if (fibers[t].state == READY) { me = &fibers[t]; threadIdx.x = t; swapcontext(&home, &me->at); }
        unsigned done = 0, held = 0;
        bool woke = false;
        for (unsigned w = 0; w < n; w += 32) {
            unsigned end = std::min(n, w + 32), waiting = 0;
            for (unsigned t = w; t < end; ++t) {
                waiting += fibers[t].state == WARP;
                done += fibers[t].state == DONE;
                held += fibers[t].state == BLOCK;
            }
            if (waiting == end - w) {
                woke = true;
                for (unsigned t = w; t < end; ++t) fibers[t].state = READY;
            }
        }
        if (done == n) return;
        if (woke) continue;
        if (held < n) { failed = 1; return; }  // a barrier or a shuffle that some threads never reach
        for (unsigned t = 0; t < n; ++t) fibers[t].state = READY;
    }
}

// `flat`: there are no barriers, so the threads are calls.
template <class F> int launch(unsigned grid, unsigned threads, int order, bool flat, F f) {
    static F* now;
    now = &f;
    body = [] { (*now)(); };
    failed = 0;
    dice = 7;
    gridDim.x = grid;
    blockDim.x = threads;
    for (unsigned b = 0; b < grid && !failed; ++b) {
        blockIdx.x = order == 1 ? grid - 1 - b : b;
        if (!flat) { block(threads, order); continue; }
        for (unsigned t = 0; t < threads; ++t) { threadIdx.x = order ? threads - 1 - t : t; f(); }
    }
    return failed;
}

// A kernel with its arguments as pointers to values, as cuLaunchKernel takes them.
template <class... P, size_t... I> void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
    kernel(*(P*)arguments[I]...);
}
template <class... P> int run(void (*kernel)(P...), unsigned grid, unsigned threads, int order, bool flat, void** a) {
    return launch(grid, threads, order, flat, [&] { call(kernel, a, std::index_sequence_for<P...>()); });
}
}  // namespace sim

static inline void __syncthreads() { sim::wait(sim::BLOCK); }

template <class T, class F> T shuffled(T v, F from) {
    unsigned t = threadIdx.x, first = t & ~31u;
    T r = v;
    std::memcpy(&sim::lanes[t], &v, sizeof v);
    sim::wait(sim::WARP);
    threadIdx.x = t;
    int s = from(int(t & 31));
    if (s >= 0 && s < 32 && first + s < blockDim.x) std::memcpy(&r, &sim::lanes[first + s], sizeof r);
    sim::wait(sim::WARP);
    return r;
}
template <class T> T __shfl_down_sync(unsigned, T v, unsigned d) { return shuffled(v, [&](int k) { return k + int(d); }); }
template <class T> T __shfl_up_sync(unsigned, T v, unsigned d) { return shuffled(v, [&](int k) { return k - int(d); }); }
template <class T> T __shfl_xor_sync(unsigned, T v, int d) { return shuffled(v, [&](int k) { return k ^ d; }); }
template <class T> T __shfl_sync(unsigned, T v, int s) { return shuffled(v, [&](int) { return s; }); }

static inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t(a) * b) >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
template <class T, class S> T same_bits(S s) { T t; static_assert(sizeof t == sizeof s); memcpy(&t, &s, sizeof t); return t; }
static inline float __int_as_float(int x) { return same_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static inline int __float_as_int(float x) { return same_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }

// float16: what cvt.f32.f16 and cvt.rn.f16.f32, cvt.rn.f16.f64 do.
static inline float from_half(unsigned short h) {
    int e = h >> 10 & 31, m = h & 1023;
    float x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf(float(m + 1024), e - 25) : ldexpf(float(m), -24);
    return h & 0x8000 ? -x : x;
}
template <class R> unsigned short to_half(R x) {
    unsigned short sign = std::signbit(x) ? 0x8000 : 0;
    R a = std::fabs(x);
    if (a != a) return sign | 0x7e00;
    if (a == 0) return sign;
    if (a >= R(65520)) return sign | 0x7c00;
    int e;
    std::frexp(a, &e);  // a is below 2**e; halves below it lie 2**(e - 11) apart, but not closer than 2**-24
    int step = std::max(e - 11, -24);
    R m = std::rint(std::ldexp(a, -step));
    return sign | (unsigned short)(step == -24 ? m : ((step + 24) << 10) + m);
}

// Functions of CUDA that C++ lacks. Their values are right to a few units in the last place, no more is needed here.
template <class R> R normcdf(R x) { return R(0.5) * std::erfc(-x * R(0.70710678118654752440)); }
template <class R> R erfcx(R x) {
    long double y = x;
    if (y < 50) return R(std::exp(y * y) * std::erfc(y));
    return R(0.56418958354775628695L / y * (1 - 0.5L / (y * y) * (1 - 1.5L / (y * y) * (1 - 2.5L / (y * y)))));
}
static inline double bessel_series(double x, int order) {  // of I0 and I1, all terms positive
    if (!(std::fabs(x) < 720)) return x != x ? x : INFINITY;
    long double q = (long double)x * x / 4, term = order ? std::fabs((long double)x) / 2 : 1, sum = 0;
    for (int k = 1; term > sum * 1e-20L; ++k) { sum += term; term *= q / ((long double)k * (k + order)); }
    return sum;
}
template <class R> R cyl_bessel_i0(R x) { return R(bessel_series(x, 0)); }
template <class R> R cyl_bessel_i1(R x) { return std::copysign(R(bessel_series(x, 1)), x); }
static inline float exp10(float x) { return exp10f(x); }
static inline float j0(float x) { return j0f(x); }
static inline float j1(float x) { return j1f(x); }
static inline float y0(float x) { return y0f(x); }
static inline float y1(float x) { return y1f(x); }
static inline double inverse_erfc(double y) {  // Newton's iteration on log(erfc(x)) - log(y)
    if (!(y >= 0 && y <= 2)) return NAN;
    if (y == 0 || y == 2) return y == 0 ? INFINITY : -INFINITY;
    if (y == 1) return 0;
    if (y > 1) return -inverse_erfc(2 - y);
    double x = y > 0.1 ? 0.5 : std::sqrt(-std::log(y));
    for (int k = 0; k < 60; ++k) {
        double f = std::erfc(x), d = f * (std::log(f) - std::log(y)) / (1.1283791670955125739 * std::exp(-x * x));
        x += d;
        if (std::fabs(d) < 1e-17 * std::fabs(x)) break;
    }
    return x;
}
template <class R> R erfcinv(R y) { return R(inverse_erfc(y)); }
template <class R> R erfinv(R y) {
    if (y == 0) return y;
    if (std::fabs(y) > R(0.5)) return y > 0 ? R(inverse_erfc(1 - (double)y)) : -R(inverse_erfc(1 + (double)y));
    double x = y * 0.8862269254527580;
    for (int k = 0; k < 60; ++k) x -= (std::erf(x) - (double)y) / (1.1283791670955125739 * std::exp(-x * x));
    return R(x);
}
template <class R> R normcdfinv(R y) { return R(-1.4142135623730950488 * inverse_erfc(2 * (double)y)); }
