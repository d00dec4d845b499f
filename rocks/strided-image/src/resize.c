/* The operator resize. Bytes have loops of their own, _resize_bytes; all other
 * elements, and the filters without antialiasing, are resized by operators of
 * aten, so floats have derivatives.
 */

#include <string.h>

#include "image.h"
#include "taps.h"

enum { NEAREST = -1 };

static const struct { const char *name; int filter; } MODES[] = {
  {"nearest", NEAREST}, {"area", TAPS_AREA}, {"bilinear", TAPS_BILINEAR},
  {"bicubic", TAPS_BICUBIC}, {"lanczos", TAPS_LANCZOS},
};

static st_status parse_mode(const st_value *v, int *out) {
  for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
    if (v->len == strlen(MODES[i].name) &&
        memcmp(v->u.string, MODES[i].name, v->len) == 0) {
      *out = MODES[i].filter;
      return ST_OK;
    }
  }
  return st_fail(ST_BAD_VALUE, "mode must be 'nearest', 'area', 'bilinear', "
                 "'bicubic' or 'lanczos', got '%.40s'", v->u.string);
}

static st_status check_sizes(const st_tensor *self, const st_value *v) {
  TRY(image_check(self, 2, 0));
  const image_layout l = image_layout_of(self);
  const int64_t *size = v->u.ints;
  if (v->len != 2) {
    return st_fail(ST_BAD_VALUE, "size must be {height, width}, got a list of "
                   "%u", (unsigned)v->len);
  }
  if (size[0] < 1 || size[1] < 1) {
    return st_fail(ST_BAD_VALUE, "size must be positive, got %lld x %lld",
                   (long long)size[0], (long long)size[1]);
  }
  if (size[0] > INT32_MAX || size[1] > INT32_MAX) {
    return st_fail(ST_BAD_VALUE, "size must be at most 2147483647, got %lld x "
                   "%lld", (long long)size[0], (long long)size[1]);
  }
  if (l.height < 1 || l.width < 1) {
    return st_fail(ST_BAD_SHAPE, "self has no pixels: %lld x %lld",
                   (long long)l.height, (long long)l.width);
  }
  return ST_OK;
}

/* -- Bytes ---------------------------------------------------------------- */

/* _resize_bytes(Tensor self, int[2] size, int filter): all images as planes
 * whose pixels are next to each other. */
typedef struct bytes_job {
  taps_table across, down;
  int channels;            /* of a pixel */
  bool is_wide, is_high;   /* the width changes, the height does */
  int64_t first, height;   /* the rows that `down` reads; it counts from them
                              if they are `between` */
  int64_t row;             /* bytes of a row of the result */
  int64_t from_step;       /* between rows of the image */
  const uint8_t *from, *limit; /* one plane; the end of all planes */
  int16_t *between;        /* the rows resized across; NULL: in place of `to` */
  uint8_t *to;             /* the plane of the result */
  uint8_t *copy;           /* of a row, with slack */
} bytes_job;

/* Whether what taps_across reads beyond a row belongs to the image. */
static bool has_slack(const bytes_job *j, int64_t y) {
  const uint8_t *end = j->from + (j->first + y) * j->from_step +
                       j->across.in * j->channels;
  return j->across.taps <= j->across.in && j->limit - end >= TAPS_SLACK;
}

static void run_row(const bytes_job *j, int64_t y, const uint8_t *from) {
  taps_across(&j->across, j->channels, from, j->to + y * j->row,
              j->between ? j->between + y * j->row : NULL);
}

static void run_across(void *ctx, int64_t begin, int64_t end) {
  const bytes_job *j = ctx;
  for (int64_t y = begin; y < end; y++) {
    if (!has_slack(j, y)) continue;
    run_row(j, y, j->from + (j->first + y) * j->from_step);
  }
}

static void across_copies(const bytes_job *j) {
  for (int64_t y = 0; y < j->height; y++) {
    if (has_slack(j, y)) continue;
    memcpy(j->copy, j->from + (j->first + y) * j->from_step,
           (size_t)(j->across.in * j->channels));
    run_row(j, y, j->copy);
  }
}

static void run_down(void *ctx, int64_t begin, int64_t end) {
  const bytes_job *j = ctx;
  for (int64_t y = begin; y < end; y++) {
    taps_down(&j->down, y, j->from, j->from_step, j->to + y * j->row, j->row);
  }
}

static void run_down16(void *ctx, int64_t begin, int64_t end) {
  const bytes_job *j = ctx;
  for (int64_t y = begin; y < end; y++) {
    taps_down16(&j->down, y, j->between, j->row, j->to + y * j->row, j->row);
  }
}

static void run_copy(const bytes_job *j) {
  for (int64_t y = 0; y < j->down.n; y++) {
    memcpy(j->to + y * j->row, j->from + y * j->from_step, (size_t)j->row);
  }
}

static int64_t grain(int64_t row, int64_t taps) {
  return 1 + (1 << 18) / (row * taps + 1);
}

/* A direction whose size stays is left out. */
static void run_plane(bytes_job *j) {
  if (!j->is_wide && !j->is_high) run_copy(j);
  if (j->is_wide) {
    st_parallel_for(0, j->height, grain(j->row, j->across.taps), run_across,
                    j);
    across_copies(j);
  }
  if (j->is_high) {
    st_parallel_for(0, j->down.n, grain(j->row, j->down.taps),
                    j->is_wide ? run_down16 : run_down, j);
  }
}

/* Scratch memory is that of tensors, which counts for the engine's limits. */
static void *scratch(image_scope *s, int64_t nbytes) {
  st_tensor *t = NULL;
  if (s->status != ST_OK) return NULL;
  s->status = st_tensor_empty(ST_DEVICE_CPU, ST_UINT8, 1, &nbytes, NULL, &t);
  return s->status == ST_OK ? st_tensor_data(image_keep(s, t)) : NULL;
}

static void make_table(image_scope *s, taps_table *t, taps_filter filter,
                       int64_t in, int64_t out) {
  t->in = in;
  t->n = out;
  t->taps = taps_count(filter, in, out);
  if (t->taps == 0 || out > INT64_MAX / 16 / t->taps) {
    s->status = st_fail(ST_BAD_VALUE, "there are too many weights from %lld "
                        "to %lld pixels", (long long)in, (long long)out);
    return;
  }
  const int64_t cells = out * t->taps;
  double *exact = scratch(s, cells * (int64_t)sizeof *exact);
  t->first = scratch(s, out * (int64_t)sizeof *t->first);
  t->weights = scratch(s, cells * (int64_t)sizeof *t->weights);
  if (s->status == ST_OK) taps_fill(t, filter, exact);
}

static void find_rows(bytes_job *j) {
  const taps_table *t = &j->down;
  const int64_t end = t->first[t->n - 1] + t->taps;
  j->first = j->is_high ? t->first[0] : 0;
  j->height = (j->is_high && end < t->in ? end : t->in) - j->first;
  for (int64_t i = 0; j->is_wide && i < t->n; i++) t->first[i] -= j->first;
}

static void make_job(image_scope *s, bytes_job *j, const st_value *args,
                     const image_layout *l) {
  const int64_t *size = args[1].u.ints;
  const taps_filter filter = (taps_filter)args[2].u.i;
  j->channels = l->is_interleaved ? (int)l->channels : 1;
  j->row = size[1] * j->channels;
  j->from_step = l->h;
  make_table(s, &j->across, filter, l->width, size[1]);
  if (s->status == ST_OK) make_table(s, &j->down, filter, l->height, size[0]);
  if (s->status != ST_OK) return;
  j->is_wide = size[1] != l->width;
  j->is_high = size[0] != l->height;
  find_rows(j);
  const int64_t padded = j->across.taps > l->width ? j->across.taps : l->width;
  j->copy = scratch(s, padded * j->channels + TAPS_SLACK);
  int64_t cells;
  if (__builtin_mul_overflow(2 * j->height, j->row, &cells)) {
    s->status = st_fail(ST_NO_MEMORY, "%lld rows of %lld pixels are too many",
                        (long long)j->height, (long long)size[1]);
  }
  if (j->is_wide && j->is_high) j->between = scratch(s, cells);
  if (s->status == ST_OK) {
    memset(j->copy, 0, (size_t)(padded * j->channels + TAPS_SLACK));
  }
}

static st_status bytes_meta(st_run *r) {
  const st_tensor *self = st_run_tensor(r, 0);
  const st_value *args = st_run_args(r);
  TRY(check_sizes(self, &args[1]));
  if (st_tensor_dtype(self) != ST_UINT8) return image_bad_dtype(self, "uint8");
  if (args[2].u.i < TAPS_AREA || args[2].u.i > TAPS_LANCZOS) {
    return st_fail(ST_BAD_VALUE, "filter must be 0 to 3");
  }
  const image_layout l = image_layout_of(self);
  return image_set_output(r, self, l.channels, args[1].u.ints[0],
                          args[1].u.ints[1], ST_UINT8);
}

static st_status bytes_impl(st_run *r) {
  image_scope s = {0};
  bytes_job j = {0};
  st_tensor *out = st_maybe_get_output(r, 0);
  if (st_tensor_numel(out) == 0) return ST_OK;
  st_tensor *self = image_with_rows(&s, st_run_tensor(r, 0));
  if (s.status == ST_OK) {
    const image_layout l = image_layout_of(self), to = image_layout_of(out);
    make_job(&s, &j, st_run_args(r), &l);
    j.limit = (const uint8_t *)st_tensor_data(self) -
              st_tensor_offset(self) + st_tensor_storage_nbytes(self);
    const int64_t planes = l.is_interleaved ? 1 : l.channels;
    for (int64_t i = 0; s.status == ST_OK && i < l.batch; i++) {
      for (int64_t c = 0; c < planes; c++) {
        j.from = (const uint8_t *)st_tensor_data(self) +
                 image_offset(self, i) + c * l.c;
        j.to = (uint8_t *)st_tensor_data(out) + image_offset(out, i) +
               c * to.c;
        run_plane(&j);
      }
      s.status = st_poll_interrupt();
    }
  }
  return image_leave(&s);
}

/* -- Other elements ------------------------------------------------------- */

/* The weights of a filter as a matrix out x in. */
static st_tensor *matrix(image_scope *s, const st_tensor *like,
                         taps_filter filter, int64_t in, int64_t out) {
  const int64_t sizes[] = {out, in}, taps = taps_count(filter, in, out);
  st_tensor *t = NULL;
  if (s->status != ST_OK) return NULL;
  if (taps == 0 || out > INT64_MAX / 16 / in) {
    s->status = st_fail(ST_BAD_VALUE, "there are too many weights");
    return NULL;
  }
  double *weight = scratch(s, taps * (int64_t)sizeof *weight);
  if (s->status == ST_OK) {
    s->status = st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 2, sizes, NULL,
                                &t);
  }
  if (s->status != ST_OK) return NULL;
  image_keep(s, t);
  double *row = st_tensor_data(t);
  memset(row, 0, (size_t)(out * in) * sizeof *row);
  for (int64_t i = 0; i < out; i++, row += in) {
    int64_t count;
    const int64_t first = taps_weights(filter, in, out, i, &count, weight);
    memcpy(row + first, weight, (size_t)count * sizeof *row);
  }
  t = image_to(s, t, st_tensor_dtype(like));
  if (s->status != ST_OK || st_tensor_device(like) == ST_DEVICE_CPU) return t;
  return image_call_tv(s, "aten::to", "prim_Device", t,
                       of_int(st_tensor_device(like)));
}

/* Two products of matrices. */
static st_tensor *resize_area(image_scope *s, st_tensor *t,
                              const int64_t *size) {
  const image_layout l = image_layout_of(t);
  st_tensor *across = matrix(s, t, TAPS_AREA, l.width, size[1]);
  st_tensor *down = matrix(s, t, TAPS_AREA, l.height, size[0]);
  const int64_t swap[] = {-2, -1};
  const st_value args[] = {of_tensor(across), of_int(swap[0]),
                           of_int(swap[1])};
  across = image_call(s, "aten::transpose", "int", 3, args);
  t = image_call_tv(s, "aten::matmul", "", t, of_tensor(across));
  return image_call_tv(s, "aten::matmul", "", down, of_tensor(t));
}

static st_tensor *resize_aten(image_scope *s, st_tensor *t,
                              const int64_t *size, int filter,
                              bool antialias) {
  static const char *const smooth[] = {
    NULL, "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa",
    "aten::_upsample_lanczos2d_aa"};
  static const char *const sharp[] = {
    NULL, "aten::upsample_bilinear2d", "aten::upsample_bicubic2d", NULL};
  const st_value args[] = {of_tensor(t), of_ints(size, 2), of_bool(false)};
  if (filter == NEAREST) {
    return image_call(s, "aten::_upsample_nearest_exact2d", "", 2, args);
  }
  const char *name = (antialias ? smooth : sharp)[filter];
  if (!name) {
    s->status = st_fail(ST_BAD_VALUE, "mode 'lanczos' needs antialias");
    return NULL;
  }
  return image_call(s, name, "", 3, args);
}

/* The operators of aten take (N, C, H, W). */
static st_tensor *resize_images(image_scope *s, st_tensor *t,
                                const int64_t *size, int filter,
                                bool antialias) {
  int64_t sizes[ST_MAX_DIMS];
  if (s->status != ST_OK) return NULL;
  const int n = st_tensor_ndim(t);
  const image_layout l = image_layout_of(t);
  memcpy(sizes, st_tensor_sizes(t), (size_t)n * sizeof *sizes);
  sizes[n - 2] = size[0];
  sizes[n - 1] = size[1];
  if (filter == TAPS_AREA) return resize_area(s, t, size);
  const int64_t four[] = {l.batch, l.channels, l.height, l.width};
  if (n == 3) {
    t = image_call_tv(s, "aten::unsqueeze", "", t, of_int(0));
  } else if (n != 4) {
    t = image_call_tv(s, "aten::reshape", "", t, of_ints(four, 4));
  }
  if (s->status == ST_OK) t = resize_aten(s, t, size, filter, antialias);
  if (n == 3) return image_call_tv(s, "aten::squeeze", "dim", t, of_int(0));
  if (n == 4) return t;
  return image_call_tv(s, "aten::reshape", "", t, of_ints(sizes, n));
}

/* Integers are resized as floats and rounded. */
static st_tensor *resize_integers(image_scope *s, st_tensor *self,
                                  const int64_t *size, int filter,
                                  bool antialias) {
  const st_dtype dtype = st_tensor_dtype(self);
  const bool is_small = dtype == ST_UINT8 || dtype == ST_INT8 ||
                        dtype == ST_INT16 || dtype == ST_UINT16;
  st_tensor *t = image_to(s, self, is_small ? ST_FLOAT32 : ST_FLOAT64);
  t = resize_images(s, t, size, filter, antialias);
  t = image_call_t(s, "aten::round", "", t);
  if (dtype == ST_UINT8 || dtype == ST_UINT16) {
    const st_scalar least = {ST_SCALAR_INT, {.i = 0}};
    const st_scalar most = {ST_SCALAR_INT,
                            {.i = dtype == ST_UINT8 ? 255 : 65535}};
    const st_value args[] = {of_tensor(t), of_int(least.u.i),
                             of_int(most.u.i)};
    t = image_call(s, "aten::clamp", "", 3, args);
  }
  return image_to(s, t, dtype);
}

/* resize(Tensor self, int[2] size, str mode='bilinear', *, bool
 * antialias=True) -> Tensor */
static st_status resize(const st_call *call, const st_value *args,
                        st_value *rets) {
  image_scope s = {0};
  st_tensor *self = args[0].u.tensor, *t;
  const int64_t *size = args[1].u.ints;
  const bool antialias = args[3].u.i != 0;
  const st_dtype dtype = st_tensor_dtype(self);
  int filter = NEAREST;
  (void)call;
  TRY(parse_mode(&args[2], &filter));
  TRY(check_sizes(self, &args[1]));
  if (dtype == ST_COMPLEX64 || dtype == ST_COMPLEX128 || dtype == ST_BOOL) {
    return image_bad_dtype(self, "integers or floats");
  }
  const bool is_smooth = antialias || filter == TAPS_AREA ||
                         filter == TAPS_LANCZOS;
  if (image_is_float(dtype) || (filter == NEAREST && dtype == ST_UINT8)) {
    t = resize_images(&s, self, size, filter, is_smooth);
  } else if (dtype == ST_UINT8 && filter != NEAREST && is_smooth) {
    const st_value bytes[] = {of_tensor(self), args[1], of_int(filter)};
    t = image_call(&s, "image::_resize_bytes", "", 3, bytes);
  } else {
    t = resize_integers(&s, self, size, filter, is_smooth);
  }
  return image_return(&s, t, rets);
}

/* -- Registration --------------------------------------------------------- */

st_status image_register_resize(st_library *lib) {
  TRY(image_define_structured(lib, "_resize_bytes(Tensor self, int[2] size, "
        "int filter) -> Tensor",
        "Resizes bytes; filter: 0 area, 1 bilinear, 2 bicubic, 3 lanczos.",
        bytes_meta, bytes_impl));
  return image_define(lib, "resize(Tensor self, int[2] size, str "
        "mode='bilinear', *, bool antialias=True) -> Tensor",
        "Resizes images (..., H, W) to size; mode: nearest, area, bilinear, "
        "bicubic or lanczos, which grow with a reduction, unless antialias is "
        "false.", resize);
}
