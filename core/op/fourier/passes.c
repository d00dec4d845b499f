/* Passes: their radices, roots, and how they are run on rows.
 */

#include "op/fourier/passes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernel/kernel.h"

enum {
  ROW = ST_FFT_ROW,
  EIGHTHS = 8,
  LEAST_EIGHTHS = 4,   /* numbers of each */
  LEAST_CONVOLVED = 36 /* of a line with a large prime factor */
};
_Static_assert(LEAST_CONVOLVED <= ST_FFT_PRIME + 6, "no prime between them");

int64_t st__fft_tile_lines(bool is_double) {
  return ROW / (is_double ? 16 : 8);
}

/* -- Radices -------------------------------------------------------------- */

bool st__fft_is_smooth(int64_t n) {
  static const int64_t primes[] = {2, 3, 5, 7, 11, 13};
  for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
    while (n % primes[i] == 0) n /= primes[i];
  }
  return n == 1;
}

bool st__fft_has_passes(int64_t n) {
  return n < LEAST_CONVOLVED || st__fft_is_smooth(n);
}

/* What a row costs in a pass of each radix, about; 0: there is none. Those
 * that need more numbers at once than there are registers cost more. */
static const float costs[] = {
  [2] = 11, [3] = 15, [4] = 14.5f, [5] = 20, [6] = 18, [7] = 25, [8] = 18,
  [9] = 25, [10] = 24, [11] = 34, [12] = 23, [13] = 38, [15] = 34, [16] = 26,
  [17] = 95, [19] = 115, [23] = 165, [29] = 255, [ST_FFT_PRIME] = 290};
enum { LARGEST = 16 };

/* The cheapest factors of n that are `most` at most, in descending order. */
static float find_factors(int64_t n, int most, int *out) {
  if (n == 1) {
    *out = 0;
    return 0;
  }
  float best = INFINITY;
  for (int r = most; r >= 2; r--) {
    int rest[ST_FFT_MOST_PASSES + 1];
    if (costs[r] == 0 || n % r != 0) continue;
    const float cost = costs[r] + find_factors(n / r, r, rest);
    if (cost >= best) continue;
    best = cost;
    out[0] = r;
    memcpy(out + 1, rest, ST_FFT_MOST_PASSES * sizeof *out);
  }
  return best;
}

bool st__fft_has_eighths(int64_t n) {
  return n % EIGHTHS == 0 && n / EIGHTHS >= LEAST_EIGHTHS &&
         st__fft_is_smooth(n);
}

/* The last pass turns nothing, so it has the largest radix, or the largest but
 * the first of a line: that is large, too, so that vectors are full in the
 * second one. */
static void factorize(st_fft_passes *p, int64_t n, st_fft_use use) {
  int factors[ST_FFT_MOST_PASSES + 1] = {0}, *from = factors, count = 0;
  if (use == ST_FFT_OF_LINES && st__fft_has_eighths(n)) {
    p->radix[p->count++] = EIGHTHS;
    n /= EIGHTHS;
  }
  find_factors(n, ST_FFT_PRIME, factors);
  while (from[count] > 0) count++;
  if (use == ST_FFT_OF_LINES && p->count == 0 && count > 1 &&
      *from <= LARGEST) {
    p->radix[p->count++] = *from++;
    count--;
  }
  while (count > 0) p->radix[p->count++] = from[--count];
}

int st__fft_count_passes(int64_t n) {
  st_fft_passes p = {.count = 0};
  factorize(&p, n, ST_FFT_OF_MATRIX);
  return p.count;
}

static void put_root(char *to, bool is_double, int64_t j, int64_t n) {
  double root[2];
  st__fft_root(j, n, root);
  if (is_double) {
    memcpy(to, root, sizeof root);
  } else {
    const float rounded[] = {(float)root[0], (float)root[1]};
    memcpy(to, rounded, sizeof rounded);
  }
}

/* n: numbers of the transforms that the pass leaves to the next, times R. The
 * count of roots, which are put there if there is a place. */
static int64_t put_roots(char *to, bool is_double, int radix, int64_t n) {
  const int64_t size = is_double ? 16 : 8;
  if (radix > LARGEST) {
    for (int64_t i = 0; to && i < radix; i++) {
      put_root(to + i * size, is_double, i, radix);
    }
    return radix;
  }
  const int64_t count = n == radix ? 0 : n / radix * (radix - 1);
  for (int64_t i = 0; to && i < count; i++) {
    put_root(to + i * size, is_double,
             i / (radix - 1) * (i % (radix - 1) + 1), n);
  }
  return count;
}

st_status st__fft_passes_init(st_fft_passes *p, bool backward, bool is_double,
                              int64_t n, st_fft_use use) {
  *p = (st_fft_passes){.length = n, .backward = backward};
  factorize(p, n, use);
  int64_t roots = 0, left = n;
  for (int i = 0; i < p->count; i++) {
    p->at[i] = roots * (is_double ? 16 : 8);
    roots += put_roots(NULL, is_double, p->radix[i], left);
    left /= p->radix[i];
  }
  p->bytes = (size_t)roots * (is_double ? 16 : 8);
  p->roots = st__alloc_block(p->bytes);
  if (!p->roots) return ST_NO_MEMORY;
  left = n;
  for (int i = 0; i < p->count; i++) {
    put_roots((char *)p->roots + p->at[i], is_double, p->radix[i], left);
    left /= p->radix[i];
  }
  return ST_OK;
}

void st__fft_passes_free(st_fft_passes *p) {
  if (p->roots) st__free_block(p->roots, p->bytes);
  *p = (st_fft_passes){.count = 0};
}

void st__fft_run_passes(const st_fft_passes *p, bool is_double, double factor,
                        st_fft_rows_at in, st_fft_rows_at out,
                        char *const buffers[2]) {
  const st_task task = st__task(ST_K_fft_pass, is_double ? ST_FLOAT64
                                                         : ST_FLOAT32);
  st_fft_pass pass = {.blocks = p->length, .stride = 1, .factor = factor};
  for (int i = 0; i < p->count; i++) {
    const st_fft_rows_at next = {
      in.at == buffers[0] ? buffers[1] : buffers[0], {.step = ROW}};
    const st_fft_rows_at to = i == p->count - 1 ? out : next;
    char *data[] = {to.at, in.at, (char *)p->roots + p->at[i]};
    pass.radix = p->radix[i];
    pass.blocks /= pass.radix;
    pass.from = in.of;
    pass.to = to.of;
    task(data, &pass);
    pass.stride *= pass.radix;
    in = to;
  }
}

/* Not where the last pass reads, unless it is the only one. */
char *st__fft_last_buffer(const st_fft_passes *p, bool is_in_first,
                          char *const buffers[2]) {
  const bool is_even = p->count % 2 == 0;
  return buffers[is_in_first ? !is_even : is_even];
}
