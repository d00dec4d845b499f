/* Random cases. Number and seed say all of a case.
 */

#include "property.h"

/* -- Numbers -------------------------------------------------------------- */

static double random_part_of_number(dice *d) {
  static const double more[] = {0.1, 1e10, 300, -0.0, 65520, 1e300};
  if (chance(d, 8)) return more[roll(d, sizeof more / sizeof *more)];
  return (double)(roll(d, 15) - 5) / 2;
}

static int64_t random_whole_number(dice *d) {
  static const int64_t more[] = {0, 127, 255, -255, 256, 300, 70000,
                                 INT64_C(0x0080000080000001), INT64_MIN};
  if (chance(d, 8)) return more[roll(d, sizeof more / sizeof *more)];
  return roll(d, 9) - 3;
}

static st_scalar random_number(dice *d, st_scalar_kind kind) {
  st_scalar s = {.kind = kind};
  switch (kind) {
    case ST_SCALAR_BOOL: s.u.i = roll(d, 2); break;
    case ST_SCALAR_INT:
      s.u.i = random_whole_number(d);
      if (chance(d, 95)) break;
      s.kind = ST_SCALAR_UINT;
      s.u.u |= UINT64_C(1) << 63;
      break;
    case ST_SCALAR_FLOAT: s.u.f = random_part_of_number(d); break;
    default:
      s.u.c[0] = random_part_of_number(d);
      s.u.c[1] = random_part_of_number(d);
  }
  return s;
}

static st_scalar_kind random_kind(dice *d) {
  const int64_t r = roll(d, 20);
  return r < 11 ? ST_SCALAR_INT : r < 17 ? ST_SCALAR_FLOAT
       : r < 19 ? ST_SCALAR_BOOL : ST_SCALAR_COMPLEX;
}

static st_scalar_kind kind_of(st_dtype d) {
  return d == ST_BOOL ? ST_SCALAR_BOOL : is_integer(d) ? ST_SCALAR_INT
       : is_complex(d) ? ST_SCALAR_COMPLEX : ST_SCALAR_FLOAT;
}

/* 1, which operators treat by itself, or what suits the dtype, or what only
 * sums must refuse. */
static st_scalar multiplier(dice *d, const test *t, st_dtype common) {
  const bool is_sum = t->row->op <= OP_RSUB;
  if (is_sum && chance(d, 45)) {
    return (st_scalar){.kind = ST_SCALAR_INT, .u.i = 1};
  }
  if (is_sum && chance(d, 10)) return random_number(d, random_kind(d));
  const bool whole = chance(d, 30) || common == ST_INT128;
  return random_number(d, whole ? ST_SCALAR_INT : kind_of(common));
}

/* -- Operands ------------------------------------------------------------- */

static st_dtype any_dtype(dice *d) {
  return (st_dtype)roll(d, DTYPES);
}

static st_dtype dtype_among(dice *d, int dtypes) {
  st_dtype dtype;
  do dtype = any_dtype(d); while (!(dtypes >> dtype & 1));
  return dtype;
}

static st_dtype mask_dtype(dice *d) {
  return chance(d, 85) ? ST_BOOL : chance(d, 85) ? ST_UINT8 : any_dtype(d);
}

static st_dtype operand_dtype(dice *d, const test *t, st_dtype main) {
  if (t->row->rule == COPY) return chance(d, 25) ? main : any_dtype(d);
  if (chance(d, 60)) return main;
  return chance(d, 50) ? any_dtype(d) : dtype_among(d, t->row->dtypes);
}

/* May a plain number wrapped as a tensor take the place of operand k? */
static bool may_be_wrapped(const test *t, int k) {
  const rule r = t->row->rule;
  return k > (r == CHOICE) && t->operand[k - 1].source == VIEW &&
         (r == BINARY || r == FLOATS || r == COMPARE || r == CHOICE);
}

static void make_operand(dice *d, test *t, char letter, st_dtype main,
                         const shape *s) {
  const int k = t->noperands++;
  operand *o = &t->operand[k];
  o->source = VIEW;
  if (letter == 'n' || (letter == 't' && may_be_wrapped(t, k) &&
                        chance(d, 6))) {
    o->source = letter == 'n' ? NUMBER : WRAPPED;
    o->number = random_number(d, random_kind(d));
    return;
  }
  const bool is_first = k == 0 || t->operand[k - 1].source != VIEW;
  o->view.dtype = letter == 'm' ? mask_dtype(d)
                : is_first ? main : operand_dtype(d, t, main);
  o->view.shape = is_first || chance(d, 60) ? *s : random_part(d, s);
  if (letter == 'z' && !chance(d, 4)) o->view.shape.ndim = 0;
}

static void break_shape(dice *d, test *t) {
  operand *o = &t->operand[roll(d, t->noperands)];
  if (o->source != VIEW || o->view.shape.ndim == 0) return;
  o->view.shape.sizes[roll(d, o->view.shape.ndim)] += 1 + roll(d, 2);
}

static st_format random_format(dice *d, const test *t) {
  const int ndim = t->operand[0].view.shape.ndim;
  if (chance(d, 40)) return ST_FORMAT_COUNT;
  if (ndim == 4 && chance(d, 60)) return ST_FORMAT_CHANNELS_LAST;
  if (ndim == 5 && chance(d, 60)) return ST_FORMAT_CHANNELS_LAST_3D;
  return t->row->op != OP_CONTIGUOUS && chance(d, 40) ? ST_FORMAT_PRESERVE
                                                      : ST_FORMAT_CONTIGUOUS;
}

static void make_operands(dice *d, test *t) {
  const st_dtype main = t->scale == HUGE_SCALE ? ST_COMPLEX128
                      : chance(d, 92) ? dtype_among(d, t->row->dtypes)
                                      : any_dtype(d);
  const shape s = random_shape(d, t->scale);
  for (const char *c = t->row->args; *c; c++) {
    if (strchr("tmzn", *c)) make_operand(d, t, *c, main, &s);
    if (*c == 'b') {
      const st_scalar_kind kind = chance(d, 50) ? kind_of(main)
                                                : random_kind(d);
      t->number[t->nnumbers++] = random_number(d, kind);
    }
    if (*c == 'v') {
      const st_scalar_kind kind = chance(d, 50) ? kind_of(main)
                                                : random_kind(d);
      t->number[t->nnumbers++] = random_number(d, kind);
    }
    if (*c == 'd') t->to = chance(d, 20) ? main : any_dtype(d);
    if (*c == 'f') t->format = random_format(d, t);
    if (*c == '?') t->flag = chance(d, 50);
  }
  if (chance(d, 2)) break_shape(d, t);
}

/* -- Output --------------------------------------------------------------- */

static st_dtype out_dtype(dice *d, const test *t, const verdict *v) {
  const rule r = t->row->rule;
  const bool is_free = r == BINARY || r == FLOATS || r == REALS ||
                       r == COMPARE;
  if (v->result == ST_INT128 || chance(d, is_free ? 35 : 4)) {
    return any_dtype(d);
  }
  return v->result;
}

/* Of a call that gives a new result, for what out and the numbers are. */
static void preview(const test *t, verdict *v) {
  test plain = *t;
  plain.variant = NEW;
  judge(&plain, v);
}

static void make_out(dice *d, test *t, const verdict *v) {
  if (t->variant == INPLACE) {
    t->is_self = true;
    return;
  }
  if (t->variant == NEW) return;
  t->out_is_other = chance(d, 5);
  t->out.dtype = out_dtype(d, t, v);
  t->out.shape = t->out_is_other ? random_shape(d, SMALL) : v->shape;
}

/* -- Memory --------------------------------------------------------------- */

/* How an input lies in the memory of the output. */
enum { APART, NEAR, SAME, TURNED };

static bool turn(dice *d, view *v) {
  const int n = v->shape.ndim;
  if (n < 2) return false;
  const int a = (int)roll(d, n), b = (int)roll(d, n);
  const int64_t stride = v->strides[a];
  if (a == b || v->shape.sizes[a] != v->shape.sizes[b]) return false;
  v->strides[a] = v->strides[b], v->strides[b] = stride;
  return true;
}

static int relate(dice *d, const view *out, view *in) {
  if (!out || !same_shape(&out->shape, &in->shape) || chance(d, 75)) {
    return chance(d, 45) ? NEAR : APART;
  }
  if (chance(d, 70)) in->dtype = out->dtype;
  if (in->dtype != out->dtype) return NEAR;
  memcpy(in->strides, out->strides, sizeof in->strides);
  in->kind = out->kind;
  return turn(d, in) ? TURNED : SAME;
}

/* Shows v's elements as conjugates, negatives or both of its bytes. The sign
 * of a NaN is nobody's to keep. */
static void make_lazy(dice *d, test *t, view *v) {
  if (!chance(d, 4) || !st_op_find("aten::_conj", "") ||
      t->row->op == OP_SIGNBIT || t->row->op == OP_COPYSIGN) {
    return;
  }
  v->is_conj = is_complex(v->dtype) && chance(d, 70);
  v->is_neg = v->dtype != ST_BOOL && (!v->is_conj || chance(d, 30));
  t->is_lazy |= v->is_conj || v->is_neg;
}

/* Every view gets an area, the output and what shares with it number 0. */
static void make_memory(dice *d, test *t) {
  view *views[MOST_OPERANDS + 1], *out = NULL;
  int relation[MOST_OPERANDS + 1] = {APART}, n = 0;
  if (t->is_self) out = &t->operand[0].view;
  else if (t->variant == OUT && !t->out_is_other) out = &t->out;
  t->nareas = 1;
  if (out) {
    out->area = 0;
    random_strides(d, out, t->scale == HUGE_SCALE || chance(d, 93));
    views[n++] = out;
  }
  for (int k = 0; k < t->noperands; k++) {
    view *v = &t->operand[k].view;
    if (t->operand[k].source != VIEW || v == out) continue;
    random_strides(d, v, chance(d, 60));
    relation[n] = relate(d, out, v);
    v->area = relation[n] == APART && n > 0 ? t->nareas++ : 0;
    views[n++] = v;
  }
  for (int k = 0; k < t->nareas; k++) make_area(d, &t->area[k], k, views, n);
  for (int i = 1; i < n; i++) {
    if (relation[i] >= SAME) views[i]->offset = out->offset;
  }
  for (int k = 0; k < t->noperands; k++) {
    view *v = &t->operand[k].view;
    if (t->operand[k].source == VIEW && t->row->args[k] == 't') {
      make_lazy(d, t, v);
    }
  }
  if (out && !t->is_self) make_lazy(d, t, out);
  for (int i = 0; i < n; i++) make_tensor(&t->area[views[i]->area], views[i]);
}

static void make_tensors(test *t) {
  for (int k = 0; k < t->noperands; k++) {
    operand *o = &t->operand[k];
    if (o->source == VIEW) o->tensor = o->view.tensor;
    if (o->source != WRAPPED) continue;
    CHECK(st_tensor_scalar(o->number, widest(o->number), true,
                           &o->tensor) == ST_OK);
  }
  if (t->is_self) t->out = t->operand[0].view;
  if (!t->out_is_other) return;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, t->out.dtype, t->out.shape.ndim,
                        t->out.shape.sizes, NULL, &t->out.tensor) == ST_OK);
  const void *strides = st_tensor_strides(t->out.tensor);
  memcpy(t->out.strides, strides, (size_t)t->out.shape.ndim * sizeof(int64_t));
  t->out.kind = "of another shape";
}

/* -- Cases ---------------------------------------------------------------- */

static const row *random_row(dice *d, scale how_large) {
  const int n = count_rows();
  const row *r = &rows[roll(d, n)];
  if (!chance(d, how_large == SMALL ? 15 : how_large == HUGE_SCALE ? 75 : 45)) {
    return r;
  }
  do r = &rows[roll(d, n)]; while (r->op != OP_COPY && r->op != OP_TO);
  return r;
}

static variant random_variant(dice *d, const row *r) {
  const bool only = r->name[strlen(r->name) - 1] == '_';
  const int64_t k = roll(d, 3);
  if (only || (k == 1 && r->inplace)) return INPLACE;
  return k == 2 && r->out ? OUT : NEW;
}

/* Few are larger than the caches, but some in every long run. */
static scale random_scale(dice *d, uint64_t index) {
  const int64_t r = roll(d, 40000);
  if (index % 20000 == 10000) return HUGE_SCALE;
  return r < 30 ? THREADS : r < 200 ? TILES : SMALL;
}

void make_case(uint64_t seed, uint64_t index, test *t) {
  static const int threads[] = {1, 2, 3, 4, 7};
  dice d = {seed * 0x2545f4914f6cdd1du + index};
  verdict v;
  d.state = next(&d);
  memset(t, 0, sizeof *t);
  t->scale = random_scale(&d, index);
  t->row = random_row(&d, t->scale);
  t->variant = random_variant(&d, t->row);
  t->threads = threads[roll(&d, 5)];
  t->format = ST_FORMAT_COUNT;
  make_operands(&d, t);
  preview(t, &v);
  for (const char *c = t->row->args; *c; c++) {
    if (*c == 'p') t->number[t->nnumbers++] = multiplier(&d, t, v.common);
  }
  make_out(&d, t, &v);
  make_memory(&d, t);
  make_tensors(t);
}

void free_case(test *t) {
  for (int k = 0; k < t->noperands; k++) {
    st_tensor_release(&t->operand[k].tensor);
  }
  if (!t->is_self) st_tensor_release(&t->out.tensor);
  for (int k = 0; k < t->nareas; k++) {
    if (t->area[k].block) free_area(&t->area[k]);
  }
}
