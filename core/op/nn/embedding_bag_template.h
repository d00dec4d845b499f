/* The loops of embedding_bag_kernels.c for one dtype: T, TAG.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)

static void NAME(add_row)(T *restrict sum, const T *restrict row, int64_t n) {
  for (int64_t j = 0; j < n; j++) sum[j] += row[j];
}

static void NAME(add_scaled)(T *restrict sum, const T *restrict row, T scale,
                             int64_t n) {
  for (int64_t j = 0; j < n; j++) sum[j] += row[j] * scale;
}

/* out[bag] = the sum of rows */
static void NAME(bag_sums)(void *ctx, int64_t begin, int64_t end) {
  const bag_run *r = ctx;
  const T *weight = r->weight, *scales = r->scales;
  int64_t left = ST_PERIOD;
  for (int64_t bag = begin; bag < end; bag++) {
    T *sum = (T *)r->out + bag * r->size;
    for (int64_t j = 0; j < r->size; j++) sum[j] = 0;
    for (int64_t i = r->starts[bag]; i < r->starts[bag + 1]; i++) {
      if (r->indices[i] == r->padding) continue;
      const T *row = weight + r->indices[i] * r->row;
      if (stops(&left, r->size + 1)) return;
      if (scales) NAME(add_scaled)(sum, row, scales[i], r->size);
      else NAME(add_row)(sum, row, r->size);
    }
  }
}

/* out[bag] = the rows of the maxima: the first, until another is greater. */
static void NAME(bag_maxima)(void *ctx, int64_t begin, int64_t end) {
  const bag_run *r = ctx;
  const T *weight = r->weight;
  int64_t left = ST_PERIOD;
  for (int64_t bag = begin; bag < end; bag++) {
    int64_t *best = (int64_t *)r->out + bag * r->size;
    for (int64_t j = 0; j < r->size; j++) best[j] = -1;
    for (int64_t i = r->starts[bag]; i < r->starts[bag + 1]; i++) {
      const int64_t at = r->indices[i];
      if (at == r->padding) continue;
      if (stops(&left, r->size + 1)) return;
      for (int64_t j = 0; j < r->size; j++) {
        if (best[j] < 0 ||
            weight[at * r->row + j] > weight[best[j] * r->row + j]) {
          best[j] = at;
        }
      }
    }
  }
}

#undef NAME_
#undef NAME2
#undef NAME
