/* Passes over tiles; included behind dft_template.h for each type.
 */

/* -- Passes ---------------------------------------------------------------- */

/* A block: transforms of some rows each, with the same turns behind them. */
INLINE void NAME(block)(char *to, const char *from, const T *roots, shape s,
                        const st_fft_pass *c) {
  for (int64_t q = 0; q < c->stride; q++) {
    for (s.v = 0; s.v < ST_FFT_ROW; s.v += 2 * (int)sizeof(V)) {
      NAME(transform)(to, from, roots, s, c);
    }
    from += c->from.step;
    to += c->to.step;
  }
}

/* Only the last pass has pairs as results. */
INLINE void NAME(blocks)(char *to, const char *from, const T *roots, shape s,
                         const st_fft_pass *c) {
  const T factor = (T)c->factor;
  if (c->blocks == 1) roots = &factor;
  s.in = c->stride * c->blocks * c->from.step;
  s.out = c->stride * c->to.step;
  if (c->blocks == 1 && c->to.are_pairs) {
    s.to = PAIRS;
    NAME(block)(to, from, roots, s, c);
  } else if (c->blocks == 1) {
    NAME(block)(to, from, roots, s, c);
  } else {
    s.turn = TURNS;
    for (int64_t p = 0; p < c->blocks; p++) {
      NAME(block)(to, from, roots, s, c);
      from += c->stride * c->from.step;
      to += s.radix * s.out;
      roots += 2 * (s.radix - 1);
    }
  }
}

#define BLOCKS_(R, tag)                                                     \
  static void radix##R##_##tag(char *to, const char *from,                  \
                               const void *roots, const st_fft_pass *c) {   \
    const shape pairs = {.radix = R, .from = PAIRS};                   \
    const shape split = {.radix = R};                                       \
    if (c->from.are_pairs) blocks_##tag(to, from, roots, pairs, c);         \
    else blocks_##tag(to, from, roots, split, c);                           \
  }
#define BLOCKS2(R, tag) BLOCKS_(R, tag)
#define BLOCKS(R) BLOCKS2(R, TAG)
BLOCKS(2)
BLOCKS(3)
BLOCKS(4)
BLOCKS(5)
BLOCKS(6)
BLOCKS(7)
BLOCKS(8)
BLOCKS(9)
BLOCKS(10)
BLOCKS(11)
BLOCKS(12)
BLOCKS(13)
BLOCKS(15)
BLOCKS(16)

/* The last pass, of a radix that has no function of its own. */
static void NAME(prime)(char *to, const char *from, const void *roots,
                        const st_fft_pass *c) {
  shape s = {.radix = c->radix, .from = c->from.are_pairs ? PAIRS : SPLIT,
             .to = c->to.are_pairs ? PAIRS : SPLIT,
             .in = c->stride * c->from.step, .out = c->stride * c->to.step};
  for (int64_t q = 0; q < c->stride; q++) {
    for (s.v = 0; s.v < ST_FFT_ROW; s.v += 2 * (int)sizeof(V)) {
      NAME(transform_prime)(to, from, roots, s, c);
    }
    from += c->from.step;
    to += c->to.step;
  }
}

static void NAME(pass)(char **data, const void *ctx) {
  const st_fft_pass *c = ctx;
  switch (c->radix) {
  case 2: NAME(radix2)(data[0], data[1], data[2], c); break;
  case 3: NAME(radix3)(data[0], data[1], data[2], c); break;
  case 4: NAME(radix4)(data[0], data[1], data[2], c); break;
  case 5: NAME(radix5)(data[0], data[1], data[2], c); break;
  case 6: NAME(radix6)(data[0], data[1], data[2], c); break;
  case 7: NAME(radix7)(data[0], data[1], data[2], c); break;
  case 8: NAME(radix8)(data[0], data[1], data[2], c); break;
  case 9: NAME(radix9)(data[0], data[1], data[2], c); break;
  case 10: NAME(radix10)(data[0], data[1], data[2], c); break;
  case 11: NAME(radix11)(data[0], data[1], data[2], c); break;
  case 12: NAME(radix12)(data[0], data[1], data[2], c); break;
  case 13: NAME(radix13)(data[0], data[1], data[2], c); break;
  case 15: NAME(radix15)(data[0], data[1], data[2], c); break;
  case 16: NAME(radix16)(data[0], data[1], data[2], c); break;
  default: NAME(prime)(data[0], data[1], data[2], c);
  }
}

#undef BLOCKS_
#undef BLOCKS2
#undef BLOCKS
