/* The kernel of one dtype; included once for each.
 *
 * A step runs from the end of a block with the greater elements to the other
 * one. What runs upwards is a step downwards of the transposed matrix with rows
 * and columns reversed: strides are negative and the sides exchanged.
 */

enum { F(ROW) = 64 / (int)sizeof(T) };

/* A block of n rows, and the rows of the vectors of both sides. */
typedef struct F(block) {
  T *d, *e, *left, *right;
  int64_t n, step, next, width; /* step: from element to element, 1 or -1 */
} F(block);

/* c and s, which turn (f, g) to (r, 0). */
typedef struct F(rotation) { T c, s, r; } F(rotation);

INLINE F(rotation) F(rotate)(T f, T g) {
  T square = f * f + g * g, by = 1;
  if (!(square >= F(LEAST))) {
    f *= F(UP);
    g *= F(UP);
    square = f * f + g * g;
    by = 1 / F(UP);
    if (!(square >= F(LEAST))) return (F(rotation)){1, 0, f * by};
  }
  const T root = M(sqrt)(square);
  const T inverse = root * (1 / square); /* sooner than 1 / root */
  return (F(rotation)){f * inverse, g * inverse, root * by};
}

/* Rows x and y become c x + s y and c y - s x. */
INLINE void F(turn_rows)(T *x, T *y, T c, T s, int64_t width) {
  for (int64_t at = 0; at < width; at += F(ROW)) {
    _Pragma("omp simd")
    for (int64_t k = at; k < at + F(ROW); k++) {
      const T a = x[k], b = y[k];
      x[k] = c * a + s * b;
      y[k] = c * b - s * a;
    }
  }
}

/* Rows i and i + 1 of a side. */
INLINE void F(turn)(const F(block) *b, T *rows, int64_t i, F(rotation) r) {
  T *const x = rows + i * b->next;
  F(turn_rows)(x, x + b->next, r.c, r.s, b->width);
}

/* The lesser singular value of the triangle of f and h, with g above. */
static T F(least_of_two)(T f, T g, T h) {
  f = M(fabs)(f), g = M(fabs)(g), h = M(fabs)(h);
  const T low = f < h ? f : h, high = f < h ? h : f;
  if (low == 0) return 0;
  const T sum = 1 + low / high, difference = (high - low) / high;
  if (g < high) {
    const T x = g / high;
    return low * (2 / (M(sqrt)(sum * sum + x * x) +
                       M(sqrt)(difference * difference + x * x)));
  }
  const T x = high / g;
  if (x == 0) return low * high / g;
  return 2 * (low * (1 / (M(sqrt)(1 + sum * x * (sum * x)) +
                          M(sqrt)(1 + difference * x * (difference * x)))) *
              x);
}

/* A step without a shift, by which the least values keep all their bits. */
static void F(step_at_zero)(const F(block) *b) {
  T *const d = b->d, *const e = b->e;
  const int64_t step = b->step, last = b->n - 1;
  F(rotation) right = {1, 0, 0}, left = {1, 0, 0};
  for (int64_t i = 0; i < last; i++) {
    T *const x = d + i * step;
    right = F(rotate)(*x * right.c, e[i * step]);
    if (i > 0) e[(i - 1) * step] = left.s * right.r;
    left = F(rotate)(left.c * right.r, x[step] * right.s);
    *x = left.r;
    F(turn)(b, b->right, i, right);
    F(turn)(b, b->left, i, left);
  }
  const T h = d[last * step] * right.c;
  d[last * step] = h * left.c;
  e[(last - 1) * step] = h * left.s;
}

static void F(step_at)(const F(block) *b, T shift) {
  T *const d = b->d, *const e = b->e;
  const int64_t step = b->step, last = b->n - 1;
  T f = (M(fabs)(*d) - shift) * (M(copysign)(1, *d) + shift / *d), g = *e;
  for (int64_t i = 0; i < last; i++) {
    T *const x = d + i * step, *const y = e + i * step;
    const F(rotation) right = F(rotate)(f, g);
    if (i > 0) y[-step] = right.r;
    f = right.c * *x + right.s * *y;
    const T above = right.c * *y - right.s * *x;
    g = right.s * x[step];
    const T below = right.c * x[step];
    const F(rotation) left = F(rotate)(f, g);
    *x = left.r;
    f = left.c * above + left.s * below;
    x[step] = left.c * below - left.s * above;
    if (i + 1 < last) {
      g = left.s * y[step];
      y[step] = left.c * y[step];
    }
    F(turn)(b, b->right, i, right);
    F(turn)(b, b->left, i, left);
  }
  e[(last - 1) * step] = f;
}

/* True if an element of e became 0. Else *least is near the least singular
 * value, beside the greatest element. */
static bool F(splits)(const F(block) *b, T *least) {
  const T tolerance = F(TOLERANCE) * F(EPS);
  const int64_t step = b->step, last = b->n - 1;
  T *const e = b->e, *const end = e + (last - 1) * step;
  T mu = M(fabs)(*b->d), most = mu;
  if (M(fabs)(*end) <= tolerance * M(fabs)(b->d[last * step])) {
    *end = 0;
    return true;
  }
  *least = mu;
  for (int64_t i = 0; i < last; i++) {
    T *const x = e + i * step;
    if (M(fabs)(*x) <= tolerance * mu) {
      *x = 0;
      return true;
    }
    const T d = M(fabs)(b->d[(i + 1) * step]), beside = M(fabs)(*x);
    mu = d * (mu / (mu + beside));
    *least = mu < *least ? mu : *least;
    most = d > most ? d : most;
    most = beside > most ? beside : most;
  }
  *least /= most;
  return false;
}

/* One step, with a shift where the least value does not need all its bits. */
static void F(reduce)(const F(block) *b) {
  const T tolerance = F(TOLERANCE) * F(EPS);
  const int64_t last = (b->n - 1) * b->step, before = last - b->step;
  const T first = M(fabs)(*b->d);
  T least;
  if (F(splits)(b, &least)) return;
  T shift = F(least_of_two)(b->d[before], b->e[before], b->d[last]);
  const T ratio = first > 0 ? shift / first : 0;
  if ((T)b->n * tolerance * least <= F(EPS) ||
      ratio * ratio < F(EPS)) {
    shift = 0;
  }
  if (shift == 0) F(step_at_zero)(b);
  else F(step_at)(b, shift);
}

/* The block of n rows that ends at row `last`, downwards or upwards. */
static F(block) F(block_at)(const F(block) *all, int64_t n, int64_t last,
                            bool upwards) {
  F(block) b = *all;
  const int64_t at = upwards ? last : last - n + 1;
  b.n = n;
  b.d += at;
  b.e += upwards ? last - 1 : at;
  b.left = (upwards ? all->right : all->left) + at * all->next;
  b.right = (upwards ? all->left : all->right) + at * all->next;
  if (upwards) {
    b.step = -1;
    b.next = -all->next;
  }
  return b;
}

/* Below this, elements are 0. */
static T F(threshold)(const F(block) *all) {
  T mu = M(fabs)(*all->d), least = mu;
  for (int64_t i = 1; i < all->n; i++) {
    const T d = M(fabs)(all->d[i]), e = M(fabs)(all->e[i - 1]);
    mu = mu > 0 ? d * (mu / (mu + e)) : 0;
    least = mu < least ? mu : least;
  }
  const T found = F(TOLERANCE) * F(EPS) * (least / M(sqrt)((T)all->n));
  const T floor = 36 * (T)all->n * (T)all->n * F(TINY);
  return found > floor ? found : floor;
}

/* Rows of the block that ends at row `last`. */
static int64_t F(rows_of)(const F(block) *all, int64_t last, T least) {
  int64_t first = last;
  for (; first > 0; first--) {
    if (M(fabs)(all->d[first]) <= least) all->d[first] = 0;
    if (M(fabs)(all->e[first - 1]) <= least) {
      all->e[first - 1] = 0;
      break;
    }
  }
  return last - first + 1;
}

/* d becomes the values, of any sign. Returns 0, or which was not found. */
static int F(find_values)(const F(block) *all) {
  enum { STEPS = 12, MORE = 100 };
  const T least = F(threshold)(all);
  int64_t last = all->n - 1, end = -1, first = -1;
  int64_t left = STEPS * all->n * all->n + MORE;
  bool upwards = false;
  while (last > 0) {
    const int64_t n = F(rows_of)(all, last, least);
    if (n == 1) {
      last--;
      continue;
    }
    if ((left -= n) < 0) return (int)last + 1;
    if (last - n + 1 > end || last < first) {
      upwards = M(fabs)(all->d[last - n + 1]) < M(fabs)(all->d[last]);
    }
    first = last - n + 1;
    end = last;
    const F(block) b = F(block_at)(all, n, last, upwards);
    F(reduce)(&b);
  }
  return 0;
}

/* -- Vectors -------------------------------------------------------------- */

/* The rows become those of identity matrices; the column behind the last row is
 * turned into the others. */
static void F(begin)(const F(block) *b, bool extra) {
  const int64_t n = b->n, rows = n + extra;
  memset(b->left, 0, (size_t)((n + rows) * b->next) * sizeof(T));
  for (int64_t i = 0; i < n; i++) b->left[i * (b->next + 1)] = 1;
  for (int64_t i = 0; i < rows; i++) b->right[i * (b->next + 1)] = 1;
  T f = extra ? b->e[n - 1] : 0;
  for (int64_t i = n - 1; extra && i >= 0; i--) {
    const F(rotation) r = F(rotate)(b->d[i], f);
    b->d[i] = r.r;
    if (i > 0) {
      f = -r.s * b->e[i - 1];
      b->e[i - 1] *= r.c;
    }
    F(turn_rows)(b->right + i * b->next, b->right + n * b->next, r.c, r.s,
                 b->width);
  }
}

/* Sorts the values, and copies the vectors. */
static void F(finish)(const F(block) *b, bool extra, char *u, char *vt,
                      const int64_t *st) {
  const int64_t n = b->n, columns = n + extra;
  T sorted[ST_BDSQR];
  for (int64_t i = 0; i < columns; i++) {
    const T x = i < n ? M(fabs)(b->d[i]) : 0;
    const T sign = i < n && b->d[i] < 0 ? -1 : 1;
    const T *const row = b->right + i * b->next;
    int64_t rank = 0;
    for (int64_t j = 0; i < n && j < n; j++) {
      const T y = M(fabs)(b->d[j]);
      rank += y < x || (y == x && j < i);
    }
    if (i < n) {
      sorted[rank] = x;
      memcpy(u + rank * st[2], b->left + i * b->next, (size_t)n * sizeof(T));
    } else {
      rank = n;
    }
    for (int64_t k = 0; k < columns; k++) {
      *(T *)(void *)(vt + k * st[3] + rank * (int64_t)sizeof(T)) =
        sign * row[k];
    }
  }
  memcpy(b->d, sorted, (size_t)n * sizeof(T));
}

static ST_LOOP_FN(F(bdsqr), st) {
  const bool extra = n1 == 1;
  F(block) b = {.d = (T *)(void *)data[0], .e = (T *)(void *)data[1],
                .left = (T *)(void *)data[5], .n = n0, .step = 1,
                .next = st[5] / (int64_t)sizeof(T)};
  b.right = b.left + n0 * b.next;
  b.width = (n0 + n1 + F(ROW) - 1) / F(ROW) * F(ROW);
  F(begin)(&b, extra);
  const int info = F(find_values)(&b);
  *(int32_t *)(void *)data[4] = info;
  if (info == 0) F(finish)(&b, extra, data[2], data[3], st);
}
