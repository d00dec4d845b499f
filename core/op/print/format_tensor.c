/* Tensors as text, in PyTorch's format.
 *
 * The elements to be shown are visited twice: the first pass chooses a common
 * width and notation (a formatter), the second one writes. A complex tensor
 * has a formatter for each part. The text does not depend on the locale.
 */

#include "op/print/format_tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "op/create/copy_clone_to.h"
#include "op/lazy/lazy.h"
#include "tensor/layout.h"
#include "tensor/subbyte.h"

enum { NUMBER_SIZE = 512 }; /* fits the longest "%.*f" of a double */

/* -- Numbers -------------------------------------------------------------- */

/* Replaces the locale's decimal separator, of any length, by a dot: all
 * characters that are not part of a number. */
static void fix_separator(char *s) {
  char *to = s;
  for (const char *from = s; *from;) {
    if (strchr("0123456789+-e", *from)) {
      *to++ = *from++;
      continue;
    }
    *to++ = '.';
    while (*from && !strchr("0123456789+-e", *from)) from++;
  }
  *to = 0;
}

/* kind 'f' or 'e' */
static void print_double(char *buf, double v, char kind, int precision) {
  if (isnan(v)) {
    memcpy(buf, "nan", 4);
  } else if (isinf(v)) {
    strcpy(buf, v < 0 ? "-inf" : "inf");
  } else {
    snprintf(buf, NUMBER_SIZE, kind == 'e' ? "%.*e" : "%.*f", precision, v);
    fix_separator(buf);
  }
}

/* -- Formatters ----------------------------------------------------------- */

typedef struct formatter {
  bool floating, int_mode, sci_mode;
  int precision;
  int width;
  double least, most;  /* of the nonzero finite absolute values */
} formatter;

static bool is_nonzero_finite(double v) { return isfinite(v) && v != 0; }

/* First pass: updates the range, and whether all values are integers. */
static void scan(formatter *f, double v) {
  if (!is_nonzero_finite(v)) return;
  const double a = fabs(v);
  if (a < f->least) f->least = a;
  if (a > f->most) f->most = a;
  if (v != ceil(v)) f->int_mode = false;
}

static void choose_notation(formatter *f, int sci_mode) {
  const bool any = f->most > 0;
  f->sci_mode = any && (f->most / f->least > 1000 || f->most > 1e8 ||
                        f->least < 1e-4);
  if (any && sci_mode >= 0) f->sci_mode = sci_mode;
}

static void print_number(const formatter *f, double v, char *buf) {
  if (f->sci_mode) {
    print_double(buf, v, 'e', f->precision);
  } else if (f->int_mode) {
    print_double(buf, v, 'f', 0);
    if (isfinite(v)) strcat(buf, ".");
  } else {
    print_double(buf, v, 'f', f->precision);
  }
}

static void print_scalar(const formatter *f, st_scalar s, char *buf) {
  if (s.kind == ST_SCALAR_BOOL) {
    strcpy(buf, s.u.i ? "True" : "False");
  } else if (s.kind == ST_SCALAR_INT) {
    snprintf(buf, NUMBER_SIZE, "%" PRId64, s.u.i);
  } else if (s.kind == ST_SCALAR_UINT) {
    snprintf(buf, NUMBER_SIZE, "%" PRIu64, s.u.u);
  } else {
    print_number(f, s.u.f, buf);
  }
}

static void widen(formatter *f, st_scalar s) {
  char buf[NUMBER_SIZE];
  if (f->floating && !is_nonzero_finite(s.u.f)) return;
  print_scalar(f, s, buf);
  const int n = (int)strlen(buf);
  if (n > f->width) f->width = n;
}

/* -- The printer ---------------------------------------------------------- */

typedef struct printer {
  const st_tensor *t;
  st_device device; /* the device to show */
  st_print_options o;
  bool summarize;
  bool is_complex;
  int64_t steps;  /* of loops, for goes_on */
  formatter f[2]; /* real and imaginary part */
  st_text out;
} printer;

/* True if element i of n is elided by "...". */
static bool is_hidden(const printer *p, int64_t i, int64_t n) {
  return p->summarize && n > 2 * p->o.edgeitems && i >= p->o.edgeitems &&
         i < n - p->o.edgeitems;
}

static int64_t next_shown(const printer *p, int64_t i, int64_t n) {
  return is_hidden(p, i + 1, n) ? n - p->o.edgeitems : i + 1;
}

static int64_t first_shown(const printer *p, int64_t n) {
  return is_hidden(p, 0, n) ? n : 0;
}

/* Loads the parts of element `at` of the storage: one scalar, or two floats. */
static void load(const printer *p, int64_t at, st_scalar part[2]) {
  const st_scalar s = st__element_load(p->t, at);
  part[0] = s;
  if (s.kind == ST_SCALAR_COMPLEX) {
    part[0] = st__scalar_float(s.u.c[0]);
    part[1] = st__scalar_float(s.u.c[1]);
  }
}

/* For loops over what is shown: asks whether to stop, once in 1024 steps. */
static bool goes_on(printer *p) {
  if (++p->steps % 1024 == 0 && p->out.status == ST_OK) {
    p->out.status = st__poll_interrupt();
  }
  return p->out.status == ST_OK;
}

typedef void (*visit_fn)(formatter *f, st_scalar s);

static void visit_scan(formatter *f, st_scalar s) {
  if (f->floating) scan(f, s.u.f);
}

static void each_shown(printer *p, int dim, int64_t at, visit_fn visit) {
  if (dim == p->t->ndim) {
    st_scalar part[2];
    load(p, at, part);
    for (int i = 0; i <= p->is_complex; i++) visit(&p->f[i], part[i]);
    return;
  }
  const int64_t n = p->t->sizes[dim];
  const int64_t step = p->t->strides[dim];
  for (int64_t i = first_shown(p, n); i < n && goes_on(p);
       i = next_shown(p, i, n)) {
    each_shown(p, dim + 1, at + i * step, visit);
  }
}

static void prepare_formatters(printer *p) {
  const bool floating = p->is_complex ||
                        st__is_floating(p->t->dtype);
  for (int i = 0; i < 2; i++) {
    p->f[i] = (formatter){.floating = floating, .int_mode = true, .width = 1,
                          .precision = p->o.precision, .least = INFINITY};
  }
  each_shown(p, 0, p->t->offset, visit_scan);
  for (int i = 0; i < 2; i++) choose_notation(&p->f[i], p->o.sci_mode);
  each_shown(p, 0, p->t->offset, widen);
}

/* -- Elements ------------------------------------------------------------- */

static void write_element(printer *p, int64_t at) {
  st_scalar part[2] = {{ST_SCALAR_INT, {0}}};
  char buf[NUMBER_SIZE];
  load(p, at, part);
  print_scalar(&p->f[0], part[0], buf);
  st__text_fill(&p->out, ' ', p->f[0].width - (int64_t)strlen(buf));
  st__text_puts(&p->out, buf);
  if (!p->is_complex) return;
  print_scalar(&p->f[1], part[1], buf);
  if (buf[0] != '-') st__text_puts(&p->out, "+");
  st__text_puts(&p->out, buf);
  st__text_puts(&p->out, "j");
}

/* Writes the separator after item k of a row with per_line items per line. */
static void separate(printer *p, int64_t k, int64_t per_line, int indent) {
  if (k % per_line) {
    st__text_puts(&p->out, ", ");
  } else {
    st__text_puts(&p->out, ",\n");
    st__text_fill(&p->out, ' ', indent + 1);
  }
}

static void write_row(printer *p, int64_t at, int indent) {
  const int dim = p->t->ndim - 1;
  const int64_t n = p->t->sizes[dim];
  const int64_t step = p->t->strides[dim];
  int width = p->f[0].width + 2;
  if (p->is_complex) width += p->f[1].width + 1;
  int64_t per_line = (p->o.linewidth - indent) / width;
  if (per_line < 1) per_line = 1;
  int64_t items = 0;
  st__text_puts(&p->out, "[");
  if (is_hidden(p, 0, n)) st__text_puts(&p->out, "...");
  for (int64_t i = first_shown(p, n); i < n && goes_on(p);
       i = next_shown(p, i, n)) {
    if (items) separate(p, items, per_line, indent);
    write_element(p, at + i * step);
    items++;
    if (!is_hidden(p, i + 1, n)) continue;
    separate(p, items++, per_line, indent);
    st__text_puts(&p->out, " ...");
  }
  st__text_puts(&p->out, "]");
}

static void write_tensor(printer *p, int dim, int64_t at, int indent) {
  const int left = p->t->ndim - dim;
  if (left == 0) {
    write_element(p, at);
    return;
  }
  if (left == 1) {
    write_row(p, at, indent);
    return;
  }
  const int64_t n = p->t->sizes[dim];
  const int64_t step = p->t->strides[dim];
  st__text_puts(&p->out, "[");
  if (is_hidden(p, 0, n)) st__text_puts(&p->out, "...");
  for (int64_t i = first_shown(p, n); i < n && goes_on(p);
       i = next_shown(p, i, n)) {
    const bool gap = is_hidden(p, i + 1, n);
    write_tensor(p, dim + 1, at + i * step, indent + 1);
    for (int k = 0; k < gap + (i + 1 < n); k++) {
      if (k) st__text_puts(&p->out, "...");
      st__text_puts(&p->out, ",");
      st__text_fill(&p->out, '\n', left - 1);
      st__text_fill(&p->out, ' ', indent + 1);
    }
  }
  st__text_puts(&p->out, "]");
}

/* -- Suffixes ------------------------------------------------------------- */

static size_t last_line(const st_text *t) {
  size_t n = 0;
  while (n < t->n && t->s[t->n - 1 - n] != '\n') n++;
  return n;
}

/* Writes a suffix such as ", dtype=float64", on a new line if the current one
 * is full. *line is the length of the line, plus two on the first one, as in
 * PyTorch. */
static void add_suffix(printer *p, const char *suffix, size_t *line) {
  const size_t n = strlen(suffix);
  if (*line + n + 2 > (size_t)p->o.linewidth) {
    st__text_puts(&p->out, ",\n       ");
    st__text_puts(&p->out, suffix);
    *line = 7 + n;
  } else {
    st__text_puts(&p->out, ", ");
    st__text_puts(&p->out, suffix);
    *line += n + 2;
  }
}

static void add_size_suffix(printer *p, size_t *line) {
  char buf[ST_MAX_DIMS * 22 + 8];
  size_t n = (size_t)snprintf(buf, sizeof buf, "size=(");
  for (int i = 0; i < p->t->ndim; i++) {
    n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%" PRId64, i ? ", " : "",
                          p->t->sizes[i]);
  }
  snprintf(buf + n, sizeof buf - n, p->t->ndim == 1 ? ",)" : ")");
  add_suffix(p, buf, line);
}

static void add_suffixes(printer *p, bool has_data) {
  const st_dtype dtype = p->t->dtype;
  const st_dtype usual = st__default_dtype();
  size_t line = last_line(&p->out) + 2;
  bool show = dtype != usual;
  char buf[64];
  if (p->device != ST_DEVICE_CPU) {
    snprintf(buf, sizeof buf, "device='%s'", st__device_name(p->device));
    add_suffix(p, buf, &line);
  }
  if (!has_data || (p->t->numel == 0 && p->t->ndim != 1)) {
    add_size_suffix(p, &line);
  }
  if (has_data && p->t->numel > 0) {
    show = show && dtype != st__scalar_dtype(st__scalar_complex(0, 0)) &&
           dtype != ST_INT64 && dtype != ST_BOOL;
  }
  if (show) {
    snprintf(buf, sizeof buf, "dtype=%s", st__dtype_name(dtype));
    add_suffix(p, buf, &line);
  }
}

/* -- Formatting ----------------------------------------------------------- */

static st_print_options clamp_options(const st_print_options *options) {
  st_print_options o = {4, 1000, 3, 80, -1};
  if (options) o = *options;
  if (o.precision < 0) o.precision = 0;
  if (o.precision > 100) o.precision = 100;
  if (o.edgeitems < 0) o.edgeitems = 0;
  if (o.linewidth < 1) o.linewidth = 1;
  return o;
}

/* Formats t as it is; elements on other devices than the CPU are not shown. */
static st_status write_text(const st_tensor *t, st_device device,
                            const st_print_options *options, char **out) {
  printer p = {.t = t, .device = device, .o = clamp_options(options),
               .out = {.status = ST_OK}};
  const bool has_data = t->device == ST_DEVICE_CPU;
  p.summarize = t->numel > p.o.threshold;
  p.is_complex = st__is_complex(t->dtype);
  st__text_puts(&p.out, "tensor(");
  if (!has_data) {
    st__text_puts(&p.out, "...");
  } else if (t->numel == 0) {
    st__text_puts(&p.out, "[]");
  } else {
    prepare_formatters(&p);
    write_tensor(&p, 0, t->offset, 7);
  }
  add_suffixes(&p, has_data);
  st__text_puts(&p.out, ")");
  return st__text_finish(&p.out, out);
}

/* -- Other layouts -------------------------------------------------------- */

/* Adds a text whose further lines begin with `indent` spaces. */
static void add_lines(st_text *out, const char *text, int indent) {
  for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
    st__text_add(out, text, (size_t)(end - text) + 1);
    st__text_fill(out, ' ', indent);
  }
  st__text_puts(out, text);
}

static st_status add_part(st_text *out, const st_tensor *t, int i,
                          const st_print_options *options) {
  enum { INDENT = 7 }; /* behind "tensor(" */
  st_tensor *part = NULL;
  char *text = NULL;
  ST_TRY(st_tensor_part(t, i, &part));
  const st_status status = st_tensor_text(part, options, &text);
  st__tensor_release(&part);
  ST_TRY(status);
  add_lines(out, text, INDENT);
  st__text_puts(out, ",\n");
  st__text_fill(out, ' ', INDENT);
  st__text_free(&text);
  return ST_OK;
}

/* The parts, then what the tensor is. */
static st_status write_parts(const st_tensor *t,
                             const st_print_options *options, char **out) {
  printer p = {.t = t, .device = t->device, .o = clamp_options(options),
               .out = {.status = ST_OK}};
  st_status status = ST_OK;
  st__text_puts(&p.out, "tensor(");
  for (int i = 0; i < st_tensor_nparts(t) && status == ST_OK; i++) {
    status = add_part(&p.out, t, i, options);
  }
  st__text_format(&p.out, "layout='%s'", st__layout_name(t->storage->layout));
  add_suffixes(&p, false);
  st__text_puts(&p.out, ")");
  const st_status finished = st__text_finish(&p.out, out);
  if (status != ST_OK && finished == ST_OK) st__text_free(out);
  return status == ST_OK ? finished : status;
}

/* By the layout's own function, if it has one. */
static st_status write_layout(const st_tensor *t,
                              const st_print_options *options, char **out) {
  const st_layout_functions *f = st__layout_functions(t->storage->layout);
  const st_print_options o = clamp_options(options);
  st_text text = {.status = ST_OK};
  st_value v = st__none();
  if (!f || !f->text) return write_parts(t, options, out);
  ST_TRY(f->text(f->ctx, t, &o, &v));
  if (v.tag == ST_TAG_STRING) st__text_add(&text, v.u.string, v.len);
  st__value_clear(&v);
  return st__text_finish(&text, out);
}

/* A tensor on another device is copied to the CPU if possible; lazy
 * conjugation and negation are resolved. */
st_status st_tensor_text(const st_tensor *t, const st_print_options *options,
                         char **out) {
  const st_device device = t->device;
  st_tensor *here = NULL;
  if (t->storage->layout) return write_layout(t, options, out);
  if (st__is_privateuse(t)) {
    const st_status status = st__to_cpu(t, &here);
    if (status != ST_OK && status != ST_NO_KERNEL) return status;
  } else if (st__is_lazy(t) && !st__is_meta(t)) {
    ST_TRY(st__resolve_lazy(t, &here));
  }
  const st_status status = write_text(here ? here : t, device, options, out);
  st__tensor_release(&here);
  return status;
}
