/* The secular equation in one dtype; included once for each.
 *
 * V: a vector. EPS: the greatest relative error of a rounded T. MOST: the
 * greatest T. DOWN: a power of two. The square of DOWN times a T does not
 * overflow, and does not vanish if the square of the T overflows.
 */

#define V F(v)
#define LANES ((int64_t)(BYTES / sizeof(T)))
#define EACH(l) for (int64_t l = 0; l < LANES; l++)

/* Roots of which each lane finds one, between poles `split` and split + 1, or
 * behind both if `sign` is -1. What lies on that line is counted from an
 * origin, a pole near the root. */
typedef struct F(group) {
  T at[LANES];              /* the root is here, or will be */
  T low[LANES], high[LANES];
  T origin[LANES], left[LANES], right[LANES]; /* the poles */
  T left_w[LANES], right_w[LANES], split[LANES], sign[LANES];
  T f[LANES], psi[LANES], psi_slope[LANES], phi[LANES], phi_slope[LANES];
  T before[LANES];          /* f of the last step */
  T is_middle[LANES];       /* 1: weights of both sides change in the next */
  T is_done[LANES];
  int64_t least, most;      /* split of the first and the last lane */
  T squares;                /* 1 or 0 */
} F(group);

typedef V F(vector);

INLINE V F(load)(const T *p) { return *(const V *)(const void *)p; }
INLINE void F(store)(T *p, V v) { *(V *)(void *)p = v; }

/* p - q, or p^2 - q^2. */
INLINE T F(distance)(T p, T q, T squares) {
  return (p - q) * (squares * p + (squares != 0 ? q : 1));
}

/* The sums over the poles up to split, psi, and over the others, phi. */
static void F(evaluate)(F(group) *g, const T *d, const T *w, int64_t k) {
  const V origin = F(load)(g->origin), at = F(load)(g->at);
  const V split = F(load)(g->split), zero = {0}, one = zero + 1;
  const V other = g->squares != 0 ? origin : one;
  const T by = g->squares;
  V psi = zero, psi_slope = zero, phi = zero, phi_slope = zero;
  int64_t i = 0;
  for (; i <= g->least; i++) {
    const V r = 1 / ((d[i] - origin) * (by * d[i] + other) - at);
    const V t = w[i] * r;
    psi += t;
    psi_slope += t * r;
  }
  for (; i <= g->most; i++) {
    const V r = 1 / ((d[i] - origin) * (by * d[i] + other) - at);
    const V t = w[i] * r;
    T share[LANES], splits[LANES];
    F(store)(splits, split);
    EACH(l) share[l] = splits[l] >= (T)i ? 1 : 0;
    const V mine = F(load)(share);
    psi += mine * t;
    psi_slope += mine * t * r;
    phi += (1 - mine) * t;
    phi_slope += (1 - mine) * t * r;
  }
  for (; i < k; i++) {
    const V r = 1 / ((d[i] - origin) * (by * d[i] + other) - at);
    const V t = w[i] * r;
    phi += t;
    phi_slope += t * r;
  }
  F(store)(g->psi, psi);
  F(store)(g->psi_slope, psi_slope);
  F(store)(g->phi, phi);
  F(store)(g->phi_slope, phi_slope);
  F(store)(g->f, 1 + psi + phi);
}

/* The root of c + p / (left - x) + q / (right - x) as that of c x^2 - a x + b:
 * the one between left and right, or that behind both. */
INLINE T F(root_of)(T a, T b, T c, T sign) {
  const T q = sign * M(sqrt)(M(fabs)(a * a - 4 * b * c));
  const T low = (a - q) / (2 * c), high = 2 * b / (a + q);
  return sign * a <= 0 ? low : high;
}

/* Which lane finds root j, and where the root is: in the half of its interval
 * in which f changes its sign. f is evaluated in the middle. */
static void F(start)(F(group) *g, const T *d, const T *w, int64_t k,
                     int64_t first, T sum) {
  EACH(l) {
    const int64_t j = first + l < k ? first + l : k - 1;
    const int64_t s = j < k - 1 ? j : k - 2;
    const T gap = F(distance)(d[s + 1], d[s], g->squares);
    const bool is_last = j == k - 1;
    if (l == 0) g->least = s;
    g->most = s;
    g->split[l] = (T)s;
    g->sign[l] = is_last ? -1 : 1;
    g->left_w[l] = w[s];
    g->right_w[l] = w[s + 1];
    g->origin[l] = is_last ? d[s + 1] : d[s];
    g->left[l] = is_last ? -gap : 0;
    g->right[l] = is_last ? 0 : gap;
    g->low[l] = 0;
    g->high[l] = is_last ? sum : gap;
    g->at[l] = g->high[l] / 2;
    g->is_done[l] = g->before[l] = 0;
    g->is_middle[l] = is_last;
  }
}

/* The first guess: the other poles' sum remains as it is in the middle. */
static void F(guess)(F(group) *g, const T *d) {
  EACH(l) {
    const bool is_last = g->sign[l] < 0, right = !is_last && g->f[l] < 0;
    const T c = g->f[l] - g->left_w[l] / (g->left[l] - g->at[l]) -
                g->right_w[l] / (g->right[l] - g->at[l]);
    const T gap = g->right[l] - g->left[l], half = g->at[l];
    if (right) {
      g->origin[l] = d[(int64_t)g->split[l] + 1];
      g->left[l] = -gap;
      g->right[l] = 0;
      g->low[l] = -half;
      g->high[l] = 0;
    } else {
      g->low[l] = g->f[l] < 0 ? half : 0;
      g->high[l] = g->f[l] < 0 ? g->high[l] : half;
    }
    const T a = c * (g->left[l] + g->right[l]) + g->left_w[l] + g->right_w[l];
    const T b = g->left_w[l] * g->right[l] + g->right_w[l] * g->left[l];
    const T x = F(root_of)(a, b, c, g->sign[l]);
    const T middle = (g->low[l] + g->high[l]) / 2;
    g->at[l] = x > g->low[l] && x < g->high[l] ? x : middle;
  }
}

/* One step of each lane; the number of lanes that need another one. */
static int F(step)(F(group) *g) {
  T open = 0;
  _Pragma("omp simd reduction(+:open)")
  EACH(l) {
    const T f = g->f[l], slope = g->psi_slope[l] + g->phi_slope[l];
    const T at = g->at[l], last = g->before[l];
    const T shift = M(fabs)(at) * slope <= F(MOST) ? M(fabs)(at) * slope : 0;
    const T sides = M(fabs)(g->psi[l]) + M(fabs)(g->phi[l]);
    const T error = F(EPS) * (8 * sides + 2 + shift);
    const T low = f < 0 ? at : g->low[l], high = f < 0 ? g->high[l] : at;
    const T p = g->left[l] - at, q = g->right[l] - at;
    const T gap = g->right[l] - g->left[l];
    const bool slow = f * last > 0 && 10 * M(fabs)(f) > M(fabs)(last);
    const T middle = slow && g->sign[l] > 0 ? 1 - g->is_middle[l]
                                            : g->is_middle[l];
    const T both = f - p * g->psi_slope[l] - q * g->phi_slope[l];
    const T near_left = f - q * slope + gap * g->left_w[l] / (p * p);
    const T near_right = f - p * slope - gap * g->right_w[l] / (q * q);
    const T one = g->left[l] == 0 ? near_left : near_right;
    const T c = middle != 0 ? both : one;
    const T a = (p + q) * f - p * q * slope, b = p * q * f;
    const T x = F(root_of)(a, b, g->sign[l] < 0 ? M(fabs)(c) : c, g->sign[l]);
    const T newton = at - f / slope;
    const T model = f * x < 0 ? at + x : newton;
    const T half = (low + high) / 2;
    const T next = model > low && model < high ? model : half;
    const bool inside = next > low && next < high;
    const bool done = g->is_done[l] != 0 || M(fabs)(f) <= error || !inside;
    g->low[l] = low;
    g->high[l] = high;
    g->before[l] = f;
    g->is_middle[l] = middle;
    g->is_done[l] = done ? 1 : 0;
    g->at[l] = done ? at : next;
    open += done ? 0 : 1;
  }
  return (int)open;
}

/* The only root for one pole. */
static void F(start_single)(F(group) *g, const T *d, const T *w) {
  EACH(l) {
    g->origin[l] = d[0];
    g->at[l] = w[0];
  }
}

static void F(finish)(const F(group) *g, const T *d, T *x, T *to,
                      int64_t row, int64_t k, int64_t count) {
  const V origin = F(load)(g->origin), zero = {0}, one = zero + 1;
  T steps[LANES];
  EACH(l) {
    const T o = g->origin[l], at = g->at[l];
    const T root = g->squares != 0 ? at / (o + M(sqrt)(o * o + at)) : at;
    steps[l] = root;
    if (l < count) x[l] = o + root;
  }
  const V step = F(load)(steps);
  if (g->squares != 0) {
    for (int64_t i = 0; i < k; i++, to += row) {
      F(store)(to, ((d[i] - origin) - step) * ((d[i] + origin) + step));
    }
  } else {
    for (int64_t i = 0; i < k; i++, to += row) {
      F(store)(to, (d[i] - origin) - step * one);
    }
  }
}

static ST_LOOP_FN(F(roots), st) {
  enum { MOST_STEPS = 100 };
  const st_secular *c = ctx;
  T *const x = (T *)(void *)data[0], *const to = (T *)(void *)data[1];
  const T *const d = (const T *)(void *)data[2];
  const T *const w = (const T *)(void *)data[3];
  const int64_t row = st[1] / (int64_t)sizeof(T);
  F(group) g;
  T sum = 0;
  for (int64_t i = 0; i < n1; i++) sum += w[i];
  memset(&g, 0, sizeof g);
  g.squares = c->squares;
  for (int64_t j = 0; j < n0; j += LANES) {
    const int64_t count = n0 - j < LANES ? n0 - j : LANES;
    if (n1 == 1) {
      F(start_single)(&g, d, w);
    } else {
      F(start)(&g, d, w, n1, c->first + j, sum);
      F(evaluate)(&g, d, w, n1);
      F(guess)(&g, d);
      F(evaluate)(&g, d, w, n1);
      for (int i = 0; i < MOST_STEPS && F(step)(&g) > 0; i++) {
        F(evaluate)(&g, d, w, n1);
      }
    }
    F(finish)(&g, d, x + j, to + j, row, n1, count);
  }
}

/* The product of all elements of a row but i, each divided by the distance of
 * its pole from pole i. Part l has those l, l + PARTS, ... of either side: the
 * same ones for every length of vectors. */
INLINE T F(ratios)(const T *row, const T *d, int64_t i, int64_t k, T by) {
  enum { PARTS = 16 };
  const T own = d[i], other = by != 0 ? own : 1;
  const int64_t ends[] = {0, i, i + 1, k};
  T parts[PARTS];
  for (int64_t l = 0; l < PARTS; l++) parts[l] = 1;
  for (int side = 0; side < 4; side += 2) {
    const int64_t end = ends[side + 1];
    int64_t j = ends[side];
    for (; j + PARTS <= end; j += PARTS) {
      _Pragma("omp simd")
      for (int64_t l = 0; l < PARTS; l++) {
        const T p = d[j + l];
        parts[l] *= row[j + l] / ((own - p) * (by * p + other));
      }
    }
    for (int64_t l = 0; j + l < end; l++) {
      const T p = d[j + l];
      parts[l] *= row[j + l] / ((own - p) * (by * p + other));
    }
  }
  for (int64_t half = PARTS / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; l++) parts[l] *= parts[l + half];
  }
  return parts[0];
}

static ST_LOOP_FN(F(weights), st) {
  const st_secular *c = ctx;
  T *const z = (T *)(void *)data[0];
  const T *row = (const T *)(void *)data[1];
  const T *const d = (const T *)(void *)data[2];
  for (int64_t r = 0; r < n1; r++, row += st[1] / (int64_t)sizeof(T)) {
    const int64_t i = c->first + r;
    const T x = row[i] * F(ratios)(row, d, i, n0, c->squares);
    z[r] = M(copysign)(M(sqrt)(M(fabs)(x)), z[r]);
  }
}

/* The columns v, whose squares have these sums, get norm 1. Where a sum
 * overflows, elements that vanish beside the others are lost. */
static void F(normalize)(T *v, V sum, int64_t row, int64_t k) {
  const V zero = {0};
  T sums[LANES], by[LANES];
  bool is_far = false;
  F(store)(sums, sum);
  EACH(l) {
    by[l] = sums[l] <= F(MOST) ? 1 : F(DOWN);
    is_far = is_far || by[l] != 1;
  }
  if (is_far) {
    const V down = F(load)(by);
    sum = zero;
    for (int64_t r = 0; r < k; r++) {
      const V y = F(load)(v + r * row) * down;
      F(store)(v + r * row, y);
      sum += y * y;
    }
    F(store)(sums, sum);
  }
  EACH(l) by[l] = 1 / M(sqrt)(sums[l]);
  const V up = F(load)(by);
  for (int64_t r = 0; r < k; r++) {
    F(store)(v + r * row, F(load)(v + r * row) * up);
  }
}

/* The rows of V, by which U's are formed. */
static void F(form)(T *v, const T *from, const T *z, const int32_t *order,
                    int64_t row, int64_t k) {
  const V zero = {0};
  V sum = zero;
  for (int64_t r = 0; r < k; r++) {
    const V y = z[order[r] - 1] / F(load)(from + (order[r] - 1) * row);
    F(store)(v + r * row, y);
    sum += y * y;
  }
  F(normalize)(v, sum, row, k);
}

static void F(form_left)(T *u, const T *from, const T *z,
                         const int32_t *order, const T *d, int64_t row,
                         int64_t k) {
  const V zero = {0};
  V sum = zero;
  for (int64_t r = 0; r < k; r++) {
    const int64_t i = order[r] - 1;
    const V y = i == 0 ? zero - 1 : d[i] * z[i] / F(load)(from + i * row);
    F(store)(u + r * row, y);
    sum += y * y;
  }
  F(normalize)(u, sum, row, k);
}

static ST_LOOP_FN(F(vectors), st) {
  T *const v = (T *)(void *)data[0], *const u = (T *)(void *)data[4];
  const T *const from = (const T *)(void *)data[1];
  const T *const z = (const T *)(void *)data[2];
  const int32_t *const order = (const int32_t *)(void *)data[3];
  const T *const d = (const T *)(void *)data[5];
  const int64_t row = st[1] / (int64_t)sizeof(T);
  for (int64_t j = 0; j < n0; j += LANES) {
    F(form)(v + j, from + j, z, order, row, n1);
    if (u) F(form_left)(u + j, from + j, z, order, d, row, n1);
  }
}
