/* The bodies of a reduction of floats that read contiguous halves where they
 * are stored: NAME_stored_f16 and NAME_stored_bf16. reduction_template.h, whose
 * parameters they have, includes this file. A body reduces a block of one
 * output of at least W elements. A conversion takes less time next to the
 * additions than in a loop of its own.
 */

#if ST_HAS_HALVES
static void JOIN(NAME, stored_f16)(const span *p) {
  enum { W = JOIN(NAME, lane_count) };
  ST_MAYBE const R r = *(const R *)p->pivot;
  const char *x = p->in;
  const int64_t n = p->n0;
  float part[W];
  A v[W];
  st_widen_plain(part, x, W);
  for (int l = 0; l < W; l++) v[l] = MAP(LOAD(part[l]), r);
  int64_t i = W;
  for (; i + W <= n; i += W) {
    __builtin_prefetch(x + 2 * i + 1024);
    st_widen_plain(part, x + 2 * i, W);
    for (int l = 0; l < W; l++) v[l] = OP(v[l], MAP(LOAD(part[l]), r));
  }
  st_load_f16(part, x + 2 * i, 2, n - i);
  for (int64_t l = 0; i + l < n; l++) v[l] = OP(v[l], MAP(LOAD(part[l]), r));
  JOIN(JOIN(OP, A), lanes)(p->acc, v, W);
}
#define STORED_F16 .stored = JOIN(NAME, stored_f16)
#else
#define STORED_F16 .stored = NULL
#endif

/* Lanes 2l and 2l + 1 are the halves of a word: a vector of words becomes a
 * vector of even and one of odd lanes. */
static void JOIN(NAME, stored_bf16)(const span *p) {
  enum { W = JOIN(NAME, lane_count), H = W / 2 };
  ST_MAYBE const R r = *(const R *)p->pivot;
  const st_bf16_pair *x = (const st_bf16_pair *)p->in;
  const int64_t words = p->n0 / 2;
  A even[H], odd[H], v[W];
#pragma omp simd
  for (int l = 0; l < H; l++) {
    even[l] = MAP(LOAD(st_first_bf16(x[l])), r);
    odd[l] = MAP(LOAD(st_second_bf16(x[l])), r);
  }
  int64_t i = H;
  for (; i + H <= words; i += H) {
    __builtin_prefetch((const char *)(x + i) + 1024);
#pragma omp simd
    for (int l = 0; l < H; l++) {
      even[l] = OP(even[l], MAP(LOAD(st_first_bf16(x[i + l])), r));
      odd[l] = OP(odd[l], MAP(LOAD(st_second_bf16(x[i + l])), r));
    }
  }
  for (int l = 0; l < H; l++) v[2 * l] = even[l], v[2 * l + 1] = odd[l];
  const uint16_t *rest = (const uint16_t *)p->in + 2 * i;
  for (int64_t l = 0; l < p->n0 - 2 * i; l++)
    v[l] = OP(v[l], MAP(LOAD(st__bf16_to_float(rest[l])), r));
  JOIN(JOIN(OP, A), lanes)(p->acc, v, W);
}
#define STORED_BF16 .stored = JOIN(NAME, stored_bf16)
