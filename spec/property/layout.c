/* Random shapes and strides, and the memory that views share.
 */

#include "property.h"

#include <math.h>

/* -- Shapes --------------------------------------------------------------- */

int64_t count_elements(const shape *s) {
  int64_t n = 1;
  for (int d = 0; d < s->ndim; d++) n *= s->sizes[d];
  return n;
}

bool same_shape(const shape *a, const shape *b) {
  return a->ndim == b->ndim &&
         memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

bool broadcast(shape *to, const shape *with) {
  const int ndim = to->ndim > with->ndim ? to->ndim : with->ndim;
  shape s = {.ndim = ndim};
  for (int d = 0; d < ndim; d++) {
    const int i = d - (ndim - to->ndim), j = d - (ndim - with->ndim);
    const int64_t a = i < 0 ? 1 : to->sizes[i], b = j < 0 ? 1 : with->sizes[j];
    if (a != b && a != 1 && b != 1) return false;
    s.sizes[d] = a == 1 ? b : a;
  }
  *to = s;
  return true;
}

/* Few dimensions mostly, many now and then. */
static int random_rank(dice *d) {
  static const int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4,
                              5, 5, 6, 6};
  if (chance(d, 1)) return (int)roll(d, ST_MAX_DIMS + 1);
  if (chance(d, 2)) return 7 + (int)roll(d, 6);
  return ranks[roll(d, sizeof ranks / sizeof *ranks)];
}

static shape small_shape(dice *d) {
  static const int64_t sizes[] = {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9,
                                  15, 16, 17, 31, 33};
  shape s = {.ndim = random_rank(d)};
  int64_t left = chance(d, 5) ? 3000 : chance(d, 50) ? 30 : 200;
  const bool is_empty = s.ndim > 0 && chance(d, 3);
  for (int k = 0; k < s.ndim; k++) {
    int64_t n = sizes[roll(d, sizeof sizes / sizeof *sizes)];
    if (n > left) n = 1;
    s.sizes[k] = n;
    left /= n;
  }
  for (int k = s.ndim - 1; k > 0; k--) { /* large ones in any place */
    const int j = (int)roll(d, k + 1);
    const int64_t n = s.sizes[k];
    s.sizes[k] = s.sizes[j], s.sizes[j] = n;
  }
  if (is_empty) s.sizes[roll(d, s.ndim)] = 0;
  return s;
}

/* Some are short, some a power of two, whose strides meet in few lines of a
 * cache. */
static int64_t large_size(dice *d, double left) {
  const double most = chance(d, 40) ? 8 : chance(d, 70) ? 140 : sqrt(left);
  const int64_t power = INT64_C(1) << (2 + roll(d, 10));
  if (chance(d, 25) && (double)power <= left) return power;
  return 1 + roll(d, most < left ? (int64_t)most : (int64_t)left);
}

/* About n elements in one to five dimensions. */
static shape large_shape(dice *d, int64_t n) {
  shape s = {.ndim = 1 + (int)roll(d, 5), .sizes = {1, 1, 1, 1, 1}};
  const int longest = (int)roll(d, s.ndim);
  double left = (double)n;
  for (int k = 0; k < s.ndim; k++) {
    if (k == longest || left < 1) continue;
    s.sizes[k] = large_size(d, left);
    left /= (double)s.sizes[k];
  }
  s.sizes[longest] = left < 1 ? 1 : (int64_t)left;
  return s;
}

shape random_shape(dice *d, scale how_large) {
  switch (how_large) {
    case SMALL: return small_shape(d);
    case TILES: return large_shape(d, 3000 + roll(d, 12000));
    case THREADS: return large_shape(d, 30000 + roll(d, 150000));
    default: return large_shape(d, 2300000 + roll(d, 300000));
  }
}

shape random_part(dice *d, const shape *s) {
  shape part = {.ndim = s->ndim};
  const int drop = chance(d, 50) ? 0 : (int)roll(d, s->ndim + 1);
  const int ones = (int)roll(d, 4) * 25;
  part.ndim -= drop;
  for (int k = 0; k < part.ndim; k++) {
    part.sizes[k] = chance(d, ones) ? 1 : s->sizes[k + drop];
  }
  return part;
}

/* -- Strides -------------------------------------------------------------- */

int64_t extent(const view *v) {
  int64_t last = 0;
  for (int d = 0; d < v->shape.ndim; d++) {
    if (v->shape.sizes[d] == 0) return 0;
    last += (v->shape.sizes[d] - 1) * v->strides[d];
  }
  return last + 1;
}

bool overlaps_itself(const view *v) {
  const shape *s = &v->shape;
  const int64_t n = count_elements(s);
  int64_t index[ST_MAX_DIMS] = {0}, at = 0;
  bool found = false;
  if (n < 2) return false;
  char *seen = calloc(1, (size_t)extent(v));
  for (int64_t i = 0; i < n && !found; i++) {
    found = seen[at];
    seen[at] = 1;
    for (int d = s->ndim - 1; d >= 0; d--) {
      at += v->strides[d];
      if (++index[d] < s->sizes[d]) break;
      at -= v->strides[d] * s->sizes[d];
      index[d] = 0;
    }
  }
  free(seen);
  return found;
}

static void shuffle(dice *d, int *order, int n) {
  for (int k = n - 1; k > 0; k--) {
    const int j = (int)roll(d, k + 1), o = order[k];
    order[k] = order[j], order[j] = o;
  }
}

/* Dimensions in this order, the last one fastest; steps above 1 and pads make
 * it a slice of something larger, NULL makes it none. */
static void in_order(view *v, const int *order, const int64_t *steps,
                     const int64_t *pads) {
  int64_t stride = 1;
  for (int k = v->shape.ndim - 1; k >= 0; k--) {
    const int d = order[k];
    const int64_t step = steps ? steps[d] : 1;
    v->strides[d] = stride * step;
    stride *= v->shape.sizes[d] * step + (pads ? pads[d] : 0);
  }
}

static void sliced(dice *d, view *v, const int *order) {
  int64_t steps[ST_MAX_DIMS] = {0}, pads[ST_MAX_DIMS] = {0};
  int64_t room = count_elements(&v->shape) > 10000 ? 4 : 80;
  for (int k = 0; k < v->shape.ndim; k++) {
    steps[k] = room > 3 && chance(d, 30) ? 2 + roll(d, 2) : 1;
    room /= steps[k];
    pads[k] = room > 3 && chance(d, 30) ? 1 + roll(d, 2) : 0;
    if (pads[k]) room /= 3;
  }
  in_order(v, order, steps, pads);
}

/* Small strides as they come: elements lie in each other's places. */
static void anyhow(dice *d, view *v) {
  for (int k = 0; k < v->shape.ndim; k++) v->strides[k] = roll(d, 7);
}

static void repeated(dice *d, view *v) {
  for (int k = 0; k < v->shape.ndim; k++) {
    if (chance(d, 40)) v->strides[k] = 0;
  }
}

/* Where the strides cannot matter they may be anything. */
static void disguise_ones(dice *d, view *v) {
  for (int k = 0; k < v->shape.ndim; k++) {
    if (v->shape.sizes[k] == 1) v->strides[k] = roll(d, 50);
  }
}

void random_strides(dice *d, view *v, bool dense) {
  static const int last4[] = {0, 2, 3, 1}, last5[] = {0, 2, 3, 4, 1};
  const int n = v->shape.ndim, kind = (int)roll(d, dense ? 10 : 14);
  int order[ST_MAX_DIMS];
  for (int k = 0; k < n; k++) order[k] = k;
  if (kind < 3) {
    v->kind = "contiguous";
    in_order(v, order, NULL, NULL);
  } else if (kind < 5 && (n == 4 || n == 5)) {
    v->kind = "channels last";
    in_order(v, n == 4 ? last4 : last5, NULL, NULL);
  } else if (kind < 7) {
    v->kind = "permuted";
    shuffle(d, order, n);
    in_order(v, order, NULL, NULL);
  } else {
    v->kind = kind < 10 ? "sliced" : kind < 12 ? "expanded" : "anyhow";
    if (chance(d, 50)) shuffle(d, order, n);
    sliced(d, v, order);
    if (kind >= 12) anyhow(d, v);
    else if (kind >= 10) repeated(d, v);
  }
  if (chance(d, 15)) disguise_ones(d, v);
}

/* -- Values --------------------------------------------------------------- */

/* What is easily got wrong: signed zeros, ends of ranges, what is not a
 * number or does not fit where it is converted to. */
static const double special_floats[] = {
  0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 0.1, 3, -7, 255, 256, 300, -129,
  32768, 65504, 65520, -65536, 2147483647, 2147483648.0, -2147483649.0,
  4294967296.0, 9007199254740993.0, 0x1p62, 0x1p63, -0x1p63, 0x1p64, 3e38,
  1e300, 1e-300, 6e-8, 1e-40, 1e-45, INFINITY, -INFINITY, NAN};
static const int64_t special_integers[] = {
  0, 1, -1, 2, 3, -3, 7, 127, 128, -128, 255, 256, 300, 32767, 32768, 65535,
  16777217, INT32_MAX, INT32_MIN, 4294967295, INT64_C(0x0080000080000001),
  INT64_MAX, INT64_MIN};

typedef enum style { MODEST, SPECIAL, WIDE, BITS, STYLES } style;

static double random_float(dice *d, style how) {
  const int n = (int)(sizeof special_floats / sizeof *special_floats);
  if (how == SPECIAL) return special_floats[roll(d, n)];
  if (how == WIDE) return (double)(int64_t)next(d) * 0x1p-60;
  return (double)(roll(d, 33) - 16) / 2;
}

static int64_t random_integer(dice *d, style how) {
  const int n = (int)(sizeof special_integers / sizeof *special_integers);
  if (how == SPECIAL) return special_integers[roll(d, n)];
  return how == WIDE ? (int64_t)next(d) : roll(d, 21) - 8;
}

/* Integers without zeros are divisors. */
static number random_value(dice *d, st_dtype t, style how, bool has_zeros) {
  number x = {0};
  if (t == ST_BOOL) {
    x.i = (int64_t)(next(d) >> 63);
  } else if (is_integer(t)) {
    x.i = random_integer(d, how);
    if (x.i == 0 && !has_zeros) x.i = 1;
  } else {
    x.re = random_float(d, how);
    x.im = is_complex(t) ? random_float(d, how) : 0;
  }
  return x;
}

static void random_values(dice *d, area *a) {
  const size_t size = st_dtype_size(a->dtype);
  const style how = (style)roll(d, STYLES);
  const bool has_zeros = chance(d, 40);
  if (how == BITS && a->dtype != ST_BOOL) {
    for (size_t at = 0; at < a->nbytes; at += sizeof(uint64_t)) {
      memcpy(a->data + at, &(uint64_t){next(d)}, sizeof(uint64_t));
    }
    return;
  }
  for (size_t at = 0; at < a->nbytes; at += size) {
    store(a->dtype, random_value(d, a->dtype, how, has_zeros), a->data + at);
  }
}

/* -- Areas ---------------------------------------------------------------- */

/* Where AddressSanitizer watches, the data end where the block does. */
#if defined(__SANITIZE_ADDRESS__)
enum { GUARD = 0 };
#else
enum { GUARD = 64 };
#endif
enum { LARGEST = 16 }; /* bytes of an element */
static const char guard = 0x5a;

static size_t bytes_of(const view *v) {
  return (size_t)extent(v) * st_dtype_size(v->dtype);
}

static void place(dice *d, const area *a, view *v) {
  const size_t size = st_dtype_size(v->dtype);
  const size_t slack = (a->nbytes - bytes_of(v)) / size;
  v->offset = roll(d, (int64_t)slack + 1);
}

void make_area(dice *d, area *a, int k, view *const *views, int n) {
  memset(a, 0, sizeof *a);
  a->dtype = ST_DTYPE_NONE;
  for (int i = 0; i < n; i++) {
    if (views[i]->area != k) continue;
    if (a->dtype == ST_DTYPE_NONE) a->dtype = views[i]->dtype;
    a->mixed |= views[i]->dtype != a->dtype;
    if (bytes_of(views[i]) > a->nbytes) a->nbytes = bytes_of(views[i]);
  }
  a->nbytes += (size_t)(chance(d, 30) ? 0 : roll(d, chance(d, 30) ? 200 : 32));
  if (a->nbytes == 0) a->nbytes = 1;
  a->nbytes = (a->nbytes + LARGEST - 1) / LARGEST * LARGEST;
  a->block = malloc(a->nbytes + 2 * GUARD);
  a->before = malloc(a->nbytes);
  a->after = malloc(a->nbytes);
  CHECK(a->block && a->before && a->after);
  a->data = a->block + GUARD;
  memset(a->block, guard, GUARD);
  memset(a->data + a->nbytes, guard, GUARD);
  random_values(d, a);
  memcpy(a->before, a->data, a->nbytes);
  for (int i = 0; i < n; i++) {
    if (views[i]->area == k) place(d, a, views[i]);
  }
  const int64_t count = (int64_t)(a->nbytes / st_dtype_size(a->dtype));
  CHECK(st_tensor_wrap(a->data, a->nbytes, a->dtype, 1, &count, NULL, 0, NULL,
                       NULL, &a->whole) == ST_OK);
}

static st_tensor *call_view(const st_op *op, int n, const st_value *args) {
  st_value ret;
  CHECK(st_call_op(op, n, args, &ret) == ST_OK);
  return ret.u.tensor;
}

static void replace(st_tensor **t, const char *name) {
  const st_value arg = {ST_TAG_TENSOR, 0, {.tensor = *t}};
  st_tensor *seen = call_view(st_op_find(name, ""), 1, &arg);
  st_tensor_release(t);
  *t = seen;
}

void make_tensor(const area *a, view *v) {
  static const st_op *view_dtype, *as_strided;
  if (!view_dtype) view_dtype = st_op_find("aten::view", "dtype");
  if (!as_strided) as_strided = st_op_find("aten::as_strided", "");
  const uint32_t n = (uint32_t)v->shape.ndim;
  st_value args[] = {
    {ST_TAG_TENSOR, 0, {.tensor = a->whole}},
    {ST_TAG_INTS, n, {.ints = v->shape.sizes}},
    {ST_TAG_INTS, n, {.ints = v->strides}},
    {ST_TAG_INT, 0, {.i = v->offset}},
  };
  const st_value to[] = {args[0], {ST_TAG_INT, 0, {.i = v->dtype}}};
  st_tensor *other = NULL;
  if (v->dtype != a->dtype) {
    args[0].u.tensor = other = call_view(view_dtype, 2, to);
  }
  v->tensor = call_view(as_strided, 4, args);
  st_tensor_release(&other);
  if (v->is_conj) replace(&v->tensor, "aten::_conj");
  if (v->is_neg) replace(&v->tensor, "aten::_neg_view");
}

bool guards_hold(const area *a) {
  for (int i = 0; i < GUARD; i++) {
    if (a->block[i] != guard || a->data[a->nbytes + (size_t)i] != guard) {
      return false;
    }
  }
  return true;
}

void free_area(area *a) {
  st_tensor_release(&a->whole);
  free(a->block);
  free(a->before);
  free(a->after);
}
