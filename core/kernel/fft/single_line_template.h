/* Single lines; included behind dft_template.h for each type.
 */

enum {
  NAME(PARTS) = 16 / sizeof(T), /* of a lane */
  NAME(SIZE) = sizeof(T),
  NAME(MOST) = 16               /* the largest radix of a first pass */
};

/* -- The first pass -------------------------------------------------------- */

/* Lanes of as many vectors as a lane has parts: part i of vector j becomes part
 * j of vector i. */
INLINE void NAME(transpose_parts)(V *x) {
#if REALS == 4 * LANES
  const V a = SHUFFLE(x[0], x[1], EACH(LOW, REALS));
  const V b = SHUFFLE(x[0], x[1], EACH(HIGH, REALS));
  const V c = SHUFFLE(x[2], x[3], EACH(LOW, REALS));
  const V d = SHUFFLE(x[2], x[3], EACH(HIGH, REALS));
  x[0] = SHUFFLE(a, c, EACH(FORMER4, REALS));
  x[1] = SHUFFLE(a, c, EACH(LATTER4, REALS));
  x[2] = SHUFFLE(b, d, EACH(FORMER4, REALS));
  x[3] = SHUFFLE(b, d, EACH(LATTER4, REALS));
#else
  const V a = SHUFFLE(x[0], x[1], EACH(EVEN, REALS));
  x[1] = SHUFFLE(x[0], x[1], EACH(ODD, REALS));
  x[0] = a;
#endif
}

/* Results k from `first` on, R at most, of REALS transforms, a vector each: the
 * first `rows` transforms become rows, `step` bytes from each other. */
INLINE void NAME(transpose_results)(char *to, int64_t step, const char *from,
                                    int first, int R, int64_t rows) {
  enum { N = NAME(PARTS) };
  V x[LANES][4], y[REALS];
  UNROLL for (int g = 0; g < LANES; g++) {
    if (g > 0 && first + g * N >= R) {
      UNROLL for (int i = 0; i < N; i++) x[g][i] = x[0][i];
      continue;
    }
    UNROLL for (int i = 0; i < N; i++) {
      const int k = first + g * N + i;
      x[g][i] = NAME(load)(from + (k < R ? k : R - 1) * (int)sizeof(V));
    }
    NAME(transpose_parts)(x[g]);
  }
  UNROLL for (int i = 0; i < N; i++) {
    V lanes[LANES];
    UNROLL for (int g = 0; g < LANES; g++) lanes[g] = x[g][i];
    NAME(transpose_lanes)(lanes);
    UNROLL for (int l = 0; l < LANES; l++) y[N * l + i] = lanes[l];
  }
  UNROLL for (int p = 0; p < REALS; p++) {
    if (p < rows) NAME(store)(to + p * step, y[p]);
  }
}

/* The last block overlaps the one before it. Later results come first, since
 * they spill (Note [Lanes that spill]). */
INLINE void NAME(first_pass)(char *to, const char *from, const T *roots, int R,
                             int64_t apart, const st_fft_pass *c) {
  enum { S = NAME(SIZE), W = REALS };
  const int64_t b = c->blocks, rows = b < W ? b : W;
  const shape s = {.radix = R, .turn = TURNS_EACH, .from = NUMBERS,
                   .to = PLANES, .in = b * 2 * S, .out = sizeof(V),
                   .to_apart = NAME(MOST) * sizeof(V), .roots = b};
  char results[2 * NAME(MOST) * sizeof(V)];
  for (int64_t k = 0; k < b; k += W) {
    const int64_t p = k + W <= b || b < W ? k : b - W;
    NAME(transform)(results, from + p * 2 * S, roots + p, s, c);
    for (int part = 0; part < 2; part++) {
      char *const plane = to + part * apart + p * R * S;
      UNROLL for (int i = (R - 1) / W * W; i >= 0; i -= W) {
        NAME(transpose_results)(plane + i * S, R * S,
                                results + part * s.to_apart, i, R, rows);
      }
    }
  }
}

/* -- Other passes ---------------------------------------------------------- */

/* What a pass does: the planes of its operands, or numbers. */
typedef struct NAME(planes) {
  char *to;
  const char *from;
  const T *roots;
  int64_t to_apart, from_apart;
} NAME(planes);

/* True if results of a transform are stored in order. */
INLINE bool NAME(is_in_order)(int R) {
  return R <= 13 && R != 6 && R != 10 && R != 12;
}

/* Stores R results in order. */
INLINE void NAME(put_in_order)(NAME(planes) o, int64_t out, const char *results,
                               int64_t apart, int R) {
  for (int k = 0; k < R; k++) {
    const char *const from = results + k * (int)sizeof(V);
    NAME(store)(o.to + k * out, NAME(load)(from));
    NAME(store)(o.to + o.to_apart + k * out, NAME(load)(from + apart));
  }
}

/* The last pass, of a large prime radix: there are less than 36 numbers. */
static void NAME(other_prime)(NAME(planes) o, const st_fft_pass *c) {
  enum { S = NAME(SIZE) };
  char results[2 * ST_FFT_PRIME * sizeof(V)];
  const shape s = {.radix = c->radix, .from = PLANES, .to = PLANES,
                   .in = c->stride * S, .out = sizeof(V),
                   .from_apart = o.from_apart,
                   .to_apart = ST_FFT_PRIME * sizeof(V)};
  NAME(transform_prime)(results, o.from, o.roots, s, c);
  NAME(put_in_order)(o, c->stride * S, results, s.to_apart, s.radix);
}

/* Transforms of `stride` neighbours, turned alike; of fewer than lanes: Note
 * [Lanes that spill]. */
INLINE void NAME(neighbours)(NAME(planes) o, shape s, const st_fft_pass *c) {
  enum { S = NAME(SIZE), W = REALS };
  char results[2 * NAME(MOST) * sizeof(V)];
  const int to_size = s.to == NUMBERS ? 2 * S : S;
  const int64_t out = s.out, last = c->stride < W ? 0 : c->stride - W;
  const bool is_aside = c->stride < W && !NAME(is_in_order)(s.radix);
  char *const to = is_aside ? results : o.to;
  if (is_aside) {
    s.out = sizeof(V);
    s.to_apart = NAME(MOST) * sizeof(V);
  }
  for (int64_t q = 0; q < c->stride; q += W) {
    const int64_t at = q < last ? q : last;
    NAME(transform)(to + at * to_size, o.from + at * S, o.roots, s, c);
  }
  if (is_aside) NAME(put_in_order)(o, out, results, s.to_apart, s.radix);
}

/* Numbers are results of the last pass, if there are as many neighbours as
 * lanes. */
INLINE void NAME(other_pass)(NAME(planes) o, int R, bool to_numbers,
                             const st_fft_pass *c) {
  enum { S = NAME(SIZE) };
  const T factor = (T)c->factor;
  shape s = {.radix = R, .from = PLANES, .to = PLANES,
             .in = c->stride * c->blocks * S, .out = c->stride * S,
             .from_apart = o.from_apart, .to_apart = o.to_apart};
  if (c->blocks == 1) {
    o.roots = &factor;
    if (to_numbers) {
      s.to = NUMBERS;
      s.out *= 2;
    }
    NAME(neighbours)(o, s, c);
    return;
  }
  s.turn = TURNS;
  for (int64_t p = 0; p < c->blocks; p++) {
    NAME(neighbours)(o, s, c);
    o.from += c->stride * S;
    o.to += R * c->stride * S;
    o.roots += 2 * (R - 1);
  }
}

#define RADIX_(R, tag)                                                      \
  static void first##R##_##tag(char *to, const char *from,                  \
                               const void *roots, int64_t apart,            \
                               const st_fft_pass *c) {                      \
    first_pass_##tag(to, from, roots, R, apart, c);                         \
  }                                                                         \
  static void other##R##_##tag(planes_##tag o, bool to_numbers,             \
                               const st_fft_pass *c) {                      \
    other_pass_##tag(o, R, to_numbers, c);                                  \
  }
#define RADIX2(R, tag) RADIX_(R, tag)
#define RADIX(R) RADIX2(R, TAG)
#define EACH_RADIX(X) \
  X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(15) X(16)
EACH_RADIX(RADIX)

static void NAME(first)(char *to, const char *from, const void *roots,
                        int64_t apart, const st_fft_pass *c) {
  switch (c->radix) {
#define FIRST_(R, tag) \
  case R: first##R##_##tag(to, from, roots, apart, c); break;
#define FIRST2(R, tag) FIRST_(R, tag)
#define FIRST(R) FIRST2(R, TAG)
  EACH_RADIX(FIRST)
  }
}

static void NAME(other)(NAME(planes) o, bool to_numbers,
                        const st_fft_pass *c) {
  switch (c->radix) {
#define OTHER_(R, tag) \
  case R: other##R##_##tag(o, to_numbers, c); break;
#define OTHER2(R, tag) OTHER_(R, tag)
#define OTHER(R) OTHER2(R, TAG)
  EACH_RADIX(OTHER)
  default: NAME(other_prime)(o, c);
  }
}

/* -- All passes ------------------------------------------------------------ */

/* The planes of numbers. */
static void NAME(split_line)(char *to, const char *from, int64_t apart,
                             const st_fft_line_of *c) {
  const T *const x = (const T *)(const void *)from;
  T *const re = (T *)(void *)(to + (c->are_swapped ? apart : 0));
  T *const im = (T *)(void *)(to + (c->are_swapped ? 0 : apart));
  for (int64_t i = 0; i < c->n; i++) {
    re[i] = x[2 * i];
    im[i] = x[2 * i + 1];
  }
}

static void NAME(join_line)(char *to, const char *from, int64_t apart,
                            const st_fft_line_of *c) {
  enum { W = REALS, S = NAME(SIZE) };
  const char *const re = from + (c->are_swapped ? apart : 0);
  const char *const im = from + (c->are_swapped ? 0 : apart);
  int64_t i = 0;
  for (; i + W <= c->n; i += W) {
    const C x = {NAME(load)(re + i * S), NAME(load)(im + i * S)};
    NAME(put_numbers)(to + i * 2 * S, x);
  }
  for (; i < c->n; i++) {
    memcpy(to + i * 2 * S, re + i * S, S);
    memcpy(to + i * 2 * S + S, im + i * S, S);
  }
}

/* Lanes may begin in what is behind the line: it is 0. */
static void NAME(clear_behind)(char *planes, int64_t apart, int64_t n) {
  memset(planes + n * NAME(SIZE), 0, BYTES);
  memset(planes + apart + n * NAME(SIZE), 0, BYTES);
}

/* Reads the line: its first pass, or a copy if there is only one pass. */
static void NAME(read_line)(char **data, char *const *buffers, int64_t apart,
                            const st_fft_line_of *c, st_fft_pass *pass) {
  const int64_t bytes = 2 * NAME(SIZE) * c->n;
  const char *from = data[1];
  NAME(clear_behind)(buffers[0], apart, c->n);
  NAME(clear_behind)(buffers[1], apart, c->n);
  if (c->count == 1) {
    NAME(split_line)(buffers[0], from, apart, c);
    return;
  }
  pass->radix = c->radix[0];
  pass->blocks /= pass->radix;
  if (pass->blocks < REALS) {
    memcpy(buffers[1], from, (size_t)bytes);
    memset(buffers[1] + bytes, 0, 2 * BYTES);
    from = buffers[1];
  }
  NAME(first)(buffers[0], from, data[2], apart, pass);
  pass->stride = pass->radix;
}

static void NAME(line)(char **data, const void *ctx) {
  const st_fft_line_of *c = ctx;
  const int64_t apart = ST_FFT_PLANE(c->n) * NAME(SIZE);
  char *const buffers[2] = {data[4], data[4] + 2 * apart};
  st_fft_pass pass = {.blocks = c->n, .stride = 1, .factor = c->factor,
                      .from.are_swapped = c->are_swapped,
                      .to.are_swapped = c->are_swapped};
  if (c->count == 0) { /* a single number */
    const T *const x = (const T *)(void *)data[1];
    const T scaled[] = {x[0] * (T)c->factor, x[1] * (T)c->factor};
    memcpy(data[0], scaled, sizeof scaled);
    return;
  }
  NAME(read_line)(data, buffers, apart, c, &pass);
  NAME(planes) o = {buffers[1], buffers[0], NULL, apart, apart};
  for (int i = c->count > 1; i < c->count; i++) {
    const bool is_last = i == c->count - 1;
    pass.radix = c->radix[i];
    const bool to_numbers = is_last && pass.stride >= REALS &&
                            pass.radix <= NAME(MOST);
    pass.blocks /= pass.radix;
    o.roots = (const T *)(void *)(data[3] + c->at[i]);
    if (to_numbers) o.to = data[0];
    NAME(other)(o, to_numbers, &pass);
    if (is_last && !to_numbers) NAME(join_line)(data[0], o.to, apart, c);
    pass.stride *= pass.radix;
    o.from = o.to;
    o.to = o.from == buffers[0] ? buffers[1] : buffers[0];
  }
}

#undef T
#undef I
#undef REALS
#undef TAG
#undef EVEN
#undef ODD
#undef LOW
#undef HIGH
#undef LANE
#undef RADIX_
#undef RADIX2
#undef RADIX
#undef EACH_RADIX
#undef FIRST_
#undef FIRST2
#undef FIRST
#undef OTHER_
#undef OTHER2
#undef OTHER
