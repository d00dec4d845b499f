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

/* The pass behind which there is none leaves results as they are, but for a
 * factor. Where rows lie is seen at run time: a function per form would be
 * most of a build. */
INLINE void NAME(blocks)(char *to, const char *from, const T *roots, shape s,
                         const st_fft_pass *c) {
  const T factor = (T)c->factor;
  s.in = c->stride * c->blocks * c->from.step;
  s.out = c->stride * c->to.step;
  s.from = c->from.are_pairs ? PAIRS : SPLIT;
  if (c->blocks == 1) {
    s.to = c->to.are_pairs ? PAIRS : SPLIT;
    NAME(block)(to, from, &factor, s, c);
    return;
  }
  s.turn = TURNS;
  for (int64_t p = 0; p < c->blocks; p++) {
    NAME(block)(to, from, roots, s, c);
    from += c->stride * c->from.step;
    to += s.radix * s.out;
    roots += 2 * (s.radix - 1);
  }
}

#define BLOCKS_(R, tag)                                                     \
  static void radix##R##_##tag(char *to, const char *from,                  \
                               const void *roots, const st_fft_pass *c) {   \
    blocks_##tag(to, from, roots, (shape){.radix = R}, c);                  \
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
