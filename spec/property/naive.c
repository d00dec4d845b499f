/* The naive loop: every element of the result, one by one over the logical
 * indices, out of a copy of the memory as it was before the call; so inputs
 * and output may overlap as they like. And before it, whether there is a
 * result at all.
 */

#include "property.h"

/* -- What takes part ------------------------------------------------------ */

static st_dtype dtype_of(const operand *o) {
  return o->source == VIEW ? o->view.dtype : widest(o->number);
}

static typed typed_of(const operand *o) {
  const int rank = o->source != VIEW ? PLAIN
                 : o->view.shape.ndim ? TENSOR : ZERO_DIM;
  return (typed){dtype_of(o), rank};
}

static typed typed_number(st_scalar s) { return (typed){widest(s), PLAIN}; }

/* What is computed in. */
static st_dtype common_dtype(const test *t) {
  typed all[MOST_OPERANDS + MOST_NUMBERS + 1];
  int n = 0;
  switch (t->row->rule) {
    case BINARY: case FLOATS: case COMPARE:
      for (int k = 0; k < t->noperands; k++) {
        all[n++] = typed_of(&t->operand[k]);
      }
      break;
    case CHOICE:
      all[n++] = typed_of(&t->operand[1]);
      all[n++] = typed_of(&t->operand[2]);
      break;
    case BOUNDED: case POWER:
      all[n++] = typed_of(&t->operand[0]);
      for (int k = 0; k < t->nnumbers; k++) {
        all[n++] = typed_number(t->number[k]);
      }
      if (t->row->op == OP_SQUARE) all[n++] = (typed){ST_INT64, PLAIN};
      break;
    default:
      return dtype_of(&t->operand[t->row->op == OP_COPY]);
  }
  const st_dtype d = result_type(all, n);
  if (t->row->rule == FLOATS && is_integer(d)) return ST_FLOAT32;
  return d;
}

/* -- Elements ------------------------------------------------------------- */

/* A way through one operand along the dimensions of the result. */
typedef struct walk {
  st_dtype dtype;
  const char *at;               /* NULL: constant all the way */
  int64_t strides[ST_MAX_DIMS]; /* in bytes */
  bool is_conj, is_neg;
  number constant;
} walk;

static void walk_view(walk *w, const view *v, const char *memory,
                      const shape *over) {
  const int64_t size = (int64_t)st_dtype_size(v->dtype);
  const int missing = over->ndim - v->shape.ndim;
  w->dtype = v->dtype;
  w->is_conj = v->is_conj;
  w->is_neg = v->is_neg;
  w->at = memory + v->offset * size;
  for (int d = 0; d < over->ndim; d++) {
    const int k = d - missing;
    const bool repeats = k < 0 || v->shape.sizes[k] != over->sizes[d];
    w->strides[d] = repeats ? 0 : v->strides[k] * size;
  }
}

static void walk_operand(walk *w, const test *t, int k, const shape *over) {
  const operand *o = &t->operand[k];
  w->at = NULL;
  w->is_conj = w->is_neg = false;
  w->dtype = dtype_of(o);
  if (o->source == VIEW) {
    walk_view(w, &o->view, t->area[o->view.area].before, over);
  } else {
    w->constant = number_of(o->number);
  }
}

/* One step in the innermost dimension, or as many further out as that ends.
 * False when all is walked. */
static bool step(walk *w, int n, const shape *over, int64_t *index) {
  for (int d = over->ndim - 1; d >= 0; d--) {
    const bool ends = ++index[d] == over->sizes[d];
    for (int k = 0; k < n; k++) {
      if (!w[k].at) continue;
      w[k].at += ends ? w[k].strides[d] * (1 - over->sizes[d])
                      : w[k].strides[d];
    }
    if (!ends) return true;
    index[d] = 0;
  }
  return false;
}

/* What the bytes x stand for, and what bytes stand for x. */
static number seen_through(const walk *w, number x) {
  if (w->is_conj) x.im = -x.im;
  return w->is_neg ? negative(w->dtype, x) : x;
}

static number element(const walk *w, st_dtype as) {
  const number x = w->at ? seen_through(w, load(w->dtype, w->at))
                         : w->constant;
  return convert(x, w->dtype, as);
}

/* -- Reasons to refuse ---------------------------------------------------- */

static void refuse(verdict *v, st_status why) { v->refusals |= 1u << why; }

static bool divides(opcode op) {
  return op == OP_DIV_TRUNC || op == OP_DIV_FLOOR || op == OP_FMOD ||
         op == OP_REMAINDER;
}

/* Is some divisor among integers zero? */
static bool divides_by_zero(const test *t, const verdict *v) {
  int64_t index[ST_MAX_DIMS] = {0};
  walk w;
  if (!divides(t->row->op) || !is_integer(v->common) ||
      count_elements(&v->shape) == 0) {
    return false;
  }
  walk_operand(&w, t, 1, &v->shape);
  do {
    if (element(&w, v->common).i == 0) return true;
  } while (step(&w, 1, &v->shape, index));
  return false;
}

static void judge_multiplier(const test *t, verdict *v) {
  const st_scalar_kind kind = t->number[0].kind;
  const st_dtype d = v->common;
  if ((kind == ST_SCALAR_BOOL && d != ST_BOOL) ||
      (kind == ST_SCALAR_COMPLEX && !is_complex(d)) ||
      (kind == ST_SCALAR_FLOAT && is_integer(d))) {
    refuse(v, ST_BAD_TYPE);
  }
}

/* An element as the plain number that it becomes. */
static st_scalar scalar_of(st_dtype d, number x) {
  st_scalar s = {.kind = d == ST_BOOL ? ST_SCALAR_BOOL : ST_SCALAR_INT};
  s.u.u = (uint64_t)x.i;
  if (x.i > INT64_MAX) s.kind = ST_SCALAR_UINT;
  if (is_float(d)) s = (st_scalar){ST_SCALAR_FLOAT, {.f = x.re}};
  if (is_complex(d)) s = (st_scalar){ST_SCALAR_COMPLEX, {.c = {x.re, x.im}}};
  return s;
}

static number only_element(const test *t, int k) {
  const view *x = &t->operand[k].view;
  return load(x->dtype, t->area[x->area].before +
                        (size_t)x->offset * st_dtype_size(x->dtype));
}

/* Letter z: a tensor that is one number. */
static void judge_value(const test *t, int k, verdict *v) {
  const view *x = &t->operand[k].view;
  if (x->shape.ndim > 0) {
    refuse(v, ST_BAD_SHAPE);
  } else if (t->nareas && !fits(scalar_of(x->dtype, only_element(t, k)),
                                dtype_of(&t->operand[0]))) {
    refuse(v, ST_BAD_VALUE);
  }
}

/* An integer bound may lie outside the dtype where a value satisfies it: a
 * minimum below it, a maximum above it. */
static bool bound_fits(st_scalar s, st_dtype d, bool is_min) {
  if (!is_integer(d)) return fits(s, d);
  const whole x = number_of(s).i;
  return wrapped(d, x) == x || (x < 0) == is_min;
}

/* The dtype in which a number meets elements of dtype d. */
static st_dtype wide(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_BFLOAT16 ? ST_FLOAT32
       : d == ST_COMPLEX32 ? ST_COMPLEX64 : d;
}

/* A number in place of a tensor is converted to the common dtype by where. */
static void judge_choices(const test *t, verdict *v) {
  if (t->row->op != OP_WHERE || v->common == ST_INT128) return;
  for (int k = 0; k < t->noperands; k++) {
    const operand *o = &t->operand[k];
    if (o->source == NUMBER && !fits(o->number, wide(v->common))) {
      refuse(v, ST_BAD_VALUE);
    }
  }
}

static void judge_numbers(const test *t, verdict *v) {
  const bool is_sum = t->row->op <= OP_RSUB;
  if (t->row->op == OP_SUB || t->row->op == OP_RSUB) {
    for (int k = 0; k < t->noperands; k++) {
      if (dtype_of(&t->operand[k]) == ST_BOOL) refuse(v, ST_BAD_DTYPE);
    }
  }
  if (is_sum && t->nnumbers) judge_multiplier(t, v);
  for (int i = 0, k = 0; t->row->args[i]; i++) {
    const char c = t->row->args[i];
    const st_dtype into = c == 'v' ? dtype_of(&t->operand[0]) : v->common;
    if (c == 'z') judge_value(t, i, v);
    if (!strchr("bvp", c) || k == t->nnumbers) continue;
    const st_scalar s = t->number[k++];
    const bool is_min = k == 1 && t->row->op != OP_CLAMP_MAX;
    const bool is_weight = t->row->op == OP_LERP_NUMBER;
    const bool is_own = is_weight || is_sum; /* converted to the dtype */
    const st_dtype met = c == 'p' && !is_own ? wide(into) : into;
    if (into != ST_INT128 &&
        !(c == 'b' ? bound_fits(s, into, is_min) : fits(s, met))) {
      refuse(v, ST_BAD_VALUE);
    }
  }
}

static void judge_masks(const test *t, verdict *v) {
  const char *mask = strchr(t->row->args, 'm');
  if (!mask) return;
  const st_dtype d = dtype_of(&t->operand[mask - t->row->args]);
  if (d != ST_BOOL && d != ST_UINT8) refuse(v, ST_BAD_DTYPE);
}

static void judge_shapes(const test *t, verdict *v) {
  v->shape = (shape){.ndim = 0};
  for (int k = 0; k < t->noperands; k++) {
    if (t->operand[k].source != VIEW || t->row->args[k] == 'z') continue;
    if (!broadcast(&v->shape, &t->operand[k].view.shape)) {
      refuse(v, ST_BAD_SHAPE);
    }
  }
  if (t->variant == INPLACE &&
      !same_shape(&v->shape, &t->operand[0].view.shape)) {
    refuse(v, ST_BAD_SHAPE);
  }
}

static bool same_view(const view *a, const view *b) {
  return a->area == b->area && a->dtype == b->dtype &&
         a->offset == b->offset && same_shape(&a->shape, &b->shape) &&
         a->is_conj == b->is_conj && a->is_neg == b->is_neg &&
         memcmp(a->strides, b->strides,
                (size_t)a->shape.ndim * sizeof *a->strides) == 0;
}

static void judge_overlap(const test *t, verdict *v) {
  const opcode op = t->row->op;
  const bool fills = op == OP_FILL || op == OP_FILL_TENSOR || op == OP_ZERO;
  if (t->variant == NEW || t->out_is_other || (fills && !t->is_lazy) ||
      (op == OP_COPY && same_view(&t->out, &t->operand[1].view))) {
    return;
  }
  if (overlaps_itself(&t->out)) refuse(v, ST_OVERLAP);
}

static bool may_be_written(rule how, st_dtype from, st_dtype to) {
  switch (how) {
    case BINARY: case FLOATS: case REALS: case POWER: return can_cast(from, to);
    case COMPARE: case COPY: case RENEW: return true;
    default: return from == to;
  }
}

static void judge_dtypes(const test *t, verdict *v) {
  const rule how = t->row->rule;
  v->common = common_dtype(t);
  v->computed = how == COMPARE ? ST_BOOL
              : how == REALS ? real_of(v->common) : v->common;
  v->result = t->row->op == OP_TO ? t->to : v->computed;
  if (!(t->row->dtypes >> v->common & 1)) {
    refuse(v, ST_BAD_DTYPE);
  }
  if (how == REALS && t->variant == INPLACE && v->computed != v->common) {
    refuse(v, ST_BAD_DTYPE);
  }
  if (t->variant == NEW) return;
  v->result = t->variant == INPLACE ? dtype_of(&t->operand[0]) : t->out.dtype;
  if (!may_be_written(how, v->computed, v->result)) refuse(v, ST_BAD_DTYPE);
}

static bool moves(const test *t, const verdict *v) {
  if (t->is_lazy) return false;
  switch (t->row->rule) {
    case COPY: return t->row->op == OP_COPY && v->common == v->result;
    case RENEW: return v->common == v->result;
    case CHOICE: return dtype_of(&t->operand[1]) == v->common &&
                        dtype_of(&t->operand[2]) == v->common;
    default: return false;
  }
}

void judge(const test *t, verdict *v) {
  memset(v, 0, sizeof *v);
  judge_dtypes(t, v);
  judge_shapes(t, v);
  judge_masks(t, v);
  judge_numbers(t, v);
  judge_choices(t, v);
  if (t->nareas == 0) return; /* only a sketch so far */
  judge_overlap(t, v);
  if (!v->refusals && divides_by_zero(t, v)) refuse(v, ST_BAD_VALUE);
  v->moves = moves(t, v);
}

/* -- The loop ------------------------------------------------------------- */

/* A number of the operator, in what it computes with. */
static number parameter(st_scalar s, st_dtype d) {
  if (d == ST_FLOAT16 || d == ST_BFLOAT16) d = ST_FLOAT32;
  if (!is_integer(d) || d == ST_BOOL) {
    return convert(number_of(s), widest(s), d);
  }
  const number x = convert(number_of(s), widest(s),
                           d == ST_UINT64 ? ST_UINT64 : ST_INT64);
  return (number){.i = wrapped(d, x.i)};
}

/* The operand of a product or quotient that is not rounded to float16 or
 * bfloat16: one element of another dtype; -1 if there is none. */
static int wide_operand(const test *t, const verdict *v) {
  const opcode op = t->row->op;
  const int k = t->noperands == 2 && t->operand[0].source != VIEW ? 0 : 1;
  const operand *o = &t->operand[k], *self = &t->operand[1 - k];
  if ((v->common != ST_FLOAT16 && v->common != ST_BFLOAT16) ||
      v->result != v->common ||
      (op != OP_MUL && (k == 0 || (op != OP_DIV && op != OP_DIV_TRUNC &&
                                   op != OP_DIV_FLOOR))) ||
      self->source != VIEW || dtype_of(self) != v->common ||
      dtype_of(o) == v->common) {
    return -1;
  }
  return o->source != VIEW ||
         (count_elements(&o->view.shape) == 1 &&
          o->view.shape.ndim <= self->view.shape.ndim) ? k : -1;
}

typedef struct loop {
  const test *test;
  const verdict *verdict;
  int wide; /* what wide_operand finds */
  walk walk[MOST_OPERANDS + 1]; /* the output behind the operands */
  number numbers[MOST_NUMBERS];
  st_dtype written;
} loop;

static bool is_masked(const walk *mask) { return *mask->at != 0; }

/* x is of dtype l->written. */
static void write(const loop *l, number x, char *to) {
  const walk *out = &l->walk[l->test->noperands];
  store(l->written, seen_through(out, x), to);
}

/* A result is rounded to what the operator gives, then converted. */
static void put(const loop *l, number x, st_dtype from, char *to) {
  char rounded[16];
  store(from, x, rounded);
  write(l, convert(load(from, rounded), from, l->written), to);
}

/* Converted, or as it is. */
static void move(const loop *l, const walk *from, char *to) {
  if (from->at && from->dtype == l->written && !l->test->is_lazy) {
    memcpy(to, from->at, st_dtype_size(l->written));
  } else {
    write(l, element(from, l->written), to);
  }
}

static void write_element(const loop *l, const char *oracle, char *to) {
  const st_dtype common = l->verdict->common;
  const walk *w = l->walk;
  number x[MOST_OPERANDS] = {{0}};
  switch (l->test->row->op) {
    case OP_COPY: move(l, &w[1], to); break;
    case OP_CLONE: case OP_CONTIGUOUS: case OP_TO: move(l, &w[0], to); break;
    case OP_WHERE: move(l, is_masked(&w[0]) ? &w[1] : &w[2], to); break;
    case OP_MASKED_FILL:
      if (!is_masked(&w[1])) move(l, &w[0], to);
      else write(l, l->numbers[0], to);
      break;
    case OP_FILL: case OP_FILL_TENSOR: case OP_ZERO:
      write(l, l->numbers[0], to);
      break;
    case OP_BY_ENGINE:
      put(l, load(l->verdict->computed, oracle), l->verdict->computed, to);
      break;
    default:
      for (int k = 0; k < l->test->noperands; k++) {
        x[k] = element(&w[k], k == l->wide ? ST_FLOAT32 : common);
      }
      put(l, compute(l->test->row->op, common, x, l->numbers),
          l->verdict->computed, to);
  }
}

/* The integer of dtype d that is nearest to an integer bound. */
static number nearest(st_scalar bound, st_dtype d) {
  const whole x = number_of(bound).i;
  const whole most = ((whole)1 << (8 * st_dtype_size(d) -
                                   !is_unsigned(d))) - 1;
  if (wrapped(d, x) == x) return (number){.i = x};
  return (number){.i = x > 0 ? most : is_unsigned(d) ? 0 : -most - 1};
}

static void get_numbers(loop *l) {
  const test *t = l->test;
  const char *z = strchr(t->row->args, 'z');
  const bool is_value = z || strchr(t->row->args, 'v');
  memset(l->numbers, 0, sizeof l->numbers);
  for (int k = 0; k < t->nnumbers; k++) {
    const st_scalar s = t->number[k];
    const st_dtype common = l->verdict->common;
    const bool is_sum = t->row->op <= OP_RSUB && !is_integer(common);
    l->numbers[k] = is_value ? convert(number_of(s), widest(s), l->written)
                  : is_sum ? convert(number_of(s), widest(s), common)
                  : parameter(s, common);
    if (t->row->rule == BOUNDED && is_integer(l->verdict->common)) {
      l->numbers[k] = nearest(s, l->verdict->common);
    }
  }
  if (z) {
    const int k = (int)(z - t->row->args);
    l->numbers[0] = convert(only_element(t, k), t->operand[k].view.dtype,
                            l->written);
  }
}

/* Where element i of a new result is. */
static view contiguous(const verdict *v) {
  view fresh = {.dtype = v->result, .shape = v->shape};
  int64_t stride = 1;
  for (int d = v->shape.ndim - 1; d >= 0; stride *= v->shape.sizes[d--]) {
    fresh.strides[d] = stride;
  }
  return fresh;
}

void expect(const test *t, verdict *v, const char *oracle) {
  const int64_t n = count_elements(&v->shape);
  const size_t size = st_dtype_size(v->computed);
  const bool is_new = t->variant == NEW || t->out_is_other;
  const int out = t->noperands;
  loop l;
  int64_t index[ST_MAX_DIMS] = {0};
  l.test = t, l.verdict = v, l.written = v->result;
  l.wide = wide_operand(t, v);
  for (int k = 0; k < out; k++) walk_operand(&l.walk[k], t, k, &v->shape);
  if (is_new) {
    const view fresh = contiguous(v);
    v->values = malloc((size_t)n * st_dtype_size(v->result) + 1);
    CHECK(v->values);
    walk_view(&l.walk[out], &fresh, v->values, &v->shape);
  } else {
    char *after = t->area[t->out.area].after;
    memcpy(after, t->area[t->out.area].before, t->area[t->out.area].nbytes);
    walk_view(&l.walk[out], &t->out, after, &v->shape);
  }
  get_numbers(&l);
  for (int64_t i = 0; i < n; i++) {
    write_element(&l, oracle ? oracle + (size_t)i * size : NULL,
                  (char *)(uintptr_t)l.walk[out].at);
    step(l.walk, out + 1, &v->shape, index);
  }
}

char *spread(const test *t, const verdict *v, int k) {
  const int64_t n = count_elements(&v->shape);
  const size_t size = st_dtype_size(v->common);
  int64_t index[ST_MAX_DIMS] = {0};
  char *out = malloc((size_t)n * size + 1);
  walk w;
  CHECK(out);
  walk_operand(&w, t, k, &v->shape);
  for (int64_t i = 0; i < n; i++) {
    store(v->common, element(&w, v->common), out + (size_t)i * size);
    step(&w, 1, &v->shape, index);
  }
  return out;
}
