/* The loops of bag_sums.c for one dtype: T, F.
 */

static void F(add_row)(T *restrict sum, const T *restrict row, int64_t n) {
  for (int64_t j = 0; j < n; j++) sum[j] += row[j];
}

static void F(add_scaled)(T *restrict sum, const T *restrict row, T scale,
                          int64_t n) {
  for (int64_t j = 0; j < n; j++) sum[j] += row[j] * scale;
}

static ST_LOOP_FN(F(bag_sums), s) {
  const st_bags_ctx *c = ctx;
  const T *weight = c->weight, *scales = c->scales;
  int64_t left = ST_PERIOD;
  for (int64_t bag = 0; bag < n1; bag++) {
    T *sum = (T *)(void *)(data[0] + bag * s[1]);
    for (int64_t j = 0; j < n0; j++) sum[j] = 0;
    for (int64_t i = c->starts[bag]; i < c->starts[bag + 1]; i++) {
      if (c->indices[i] == c->padding) continue;
      const T *row = weight + c->indices[i] * c->row;
      if (st__stops_after(&left, n0 + 1)) return;
      if (scales) F(add_scaled)(sum, row, scales[i], n0);
      else F(add_row)(sum, row, n0);
    }
  }
}

static ST_LOOP_FN(F(bag_maxima), s) {
  const st_bags_ctx *c = ctx;
  const T *weight = c->weight;
  int64_t left = ST_PERIOD;
  for (int64_t bag = 0; bag < n1; bag++) {
    int64_t *best = (int64_t *)(void *)(data[0] + bag * s[1]);
    for (int64_t j = 0; j < n0; j++) best[j] = -1;
    for (int64_t i = c->starts[bag]; i < c->starts[bag + 1]; i++) {
      const int64_t at = c->indices[i];
      if (at == c->padding) continue;
      if (st__stops_after(&left, n0 + 1)) return;
      for (int64_t j = 0; j < n0; j++) {
        if (best[j] < 0 ||
            weight[at * c->row + j] > weight[best[j] * c->row + j]) {
          best[j] = at;
        }
      }
    }
  }
}
