/* einsum: sums of products whose dimensions have labels.
 *
 * Note [Einsum]
 * Each operand becomes a view whose dimensions are those of the result and
 * then those that are summed; a dimension that it lacks has size 1. Two
 * operands at a time are contracted. A label that both have is a dimension of
 * a batch of matrix products, or the inner one if neither the result nor an
 * operand that is left has it; a label that one has is summed, or one of the
 * rows or columns. The order of the contractions is that of `path`, else the
 * one with the fewest multiplications (einsum_path.c).
 */

#include "op/linalg/einsum.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "op/row/composite.h"

enum { DOTS = ST_LABELS }; /* the code of an ellipsis */
enum { REPEATS = 28 };     /* of labels of one tensor: a scope owns the views */

/* -- The equation --------------------------------------------------------- */

/* The labels of an operand or of the result. */
typedef struct subscripts {
  int n, dots; /* codes; the position of the ellipsis among them, or -1 */
  uint8_t code[ST_MAX_DIMS];
} subscripts;

typedef struct equation {
  int n;                            /* operands */
  int ndots;                        /* dimensions of the longest ellipsis */
  int count[ST_LABELS];             /* how often operands have a label */
  subscripts in[ST_OPERANDS], out;
} equation;

static int code_of(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26
                                                               : -1;
}

static char label_of(int code) {
  return (char)(code < 26 ? 'A' + code : 'a' + code - 26);
}

static st_status add_code(subscripts *s, int code) {
  if (s->n == ST_MAX_DIMS) {
    return st__fail(ST_BAD_VALUE, "more than %d subscripts for one tensor",
                    ST_MAX_DIMS);
  }
  if (code == DOTS) s->dots = s->n;
  s->code[s->n++] = (uint8_t)code;
  return ST_OK;
}

/* Reads labels up to a comma, an arrow or the end, and moves *at there. */
static st_status read_subscripts(const char *text, const char **at,
                                 subscripts *s) {
  const char *p = *at;
  *s = (subscripts){.dots = -1};
  for (; *p && *p != ',' && *p != '-'; p++) {
    if (*p == ' ') continue;
    int code = code_of(*p);
    if (p[0] == '.' && p[1] == '.' && p[2] == '.' && s->dots < 0) {
      code = DOTS;
      p += 2;
    }
    if (code < 0) {
      return st__fail(ST_BAD_VALUE, "equation \"%.60s\" has '%c' at character "
                      "%d, where only letters, one \"...\" for a tensor, ',' "
                      "and \"->\" are allowed", text, *p, (int)(p - text) + 1);
    }
    ST_TRY(add_code(s, code));
  }
  *at = p;
  return ST_OK;
}

/* The result without an arrow: the ellipsis, then the labels that occur once,
 * in the order of their codes. */
static st_status imply_output(equation *e) {
  e->out = (subscripts){.dots = -1};
  if (e->ndots > 0) ST_TRY(add_code(&e->out, DOTS));
  for (int code = 0; code < ST_LABELS; code++) {
    if (e->count[code] == 1) ST_TRY(add_code(&e->out, code));
  }
  return ST_OK;
}

static st_status check_output(const equation *e) {
  bool seen[ST_LABELS] = {false};
  for (int i = 0; i < e->out.n; i++) {
    const int code = e->out.code[i];
    if (code == DOTS) continue;
    if (e->count[code] == 0 || seen[code]) {
      return st__fail(ST_BAD_VALUE, "subscript %c of the result %s",
                      label_of(code), seen[code] ? "occurs twice there"
                                                 : "is none of a tensor");
    }
    seen[code] = true;
  }
  return ST_OK;
}

static st_status check_rank(const subscripts *s, const st_tensor *t, int k) {
  const int labels = s->dots < 0 ? s->n : s->n - 1;
  if (s->dots < 0 ? t->ndim == labels : t->ndim >= labels) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "tensor %d has %d subscript%s, but its shape "
                  "is %s", k + 1, labels, labels == 1 ? "" : "s",
                  ST_SHAPE_TEXT(t));
}

static st_status count_mismatch(int found, unsigned given) {
  return st__fail(ST_BAD_VALUE, "the equation has subscripts for %d tensor%s, "
                  "but %u %s given", found, found == 1 ? "" : "s", given,
                  given == 1 ? "is" : "are");
}

static st_status read_operands(const char *text, const char **at,
                               st_tensors t, equation *e) {
  for (;; ++*at) {
    subscripts s;
    ST_TRY(read_subscripts(text, at, &s));
    if (e->n < (int)t.n) {
      const int free = t.p[e->n]->ndim - (s.n - 1);
      ST_TRY(check_rank(&s, t.p[e->n], e->n));
      if (s.dots >= 0 && free > e->ndots) e->ndots = free;
      e->in[e->n] = s;
    }
    e->n++;
    for (int i = 0; i < s.n; i++) {
      if (s.code[i] != DOTS) e->count[s.code[i]]++;
    }
    if (**at != ',') break;
  }
  return e->n == (int)t.n ? ST_OK : count_mismatch(e->n, t.n);
}

static st_status unexpected(const char *text, const char *at,
                            const char *should) {
  return st__fail(ST_BAD_VALUE, "equation \"%.60s\" has '%c' at character %d, "
                  "where it should %s", text, *at, (int)(at - text) + 1,
                  should);
}

static st_status read_equation(const char *text, st_tensors t, equation *e) {
  const char *at = text;
  *e = (equation){.n = 0};
  if (t.n == 0 || t.n > ST_OPERANDS) {
    return st__fail(ST_BAD_VALUE, "1 to %d tensors can be multiplied, not %u",
                    ST_OPERANDS, t.n);
  }
  ST_TRY(read_operands(text, &at, t, e));
  if (!*at) return imply_output(e);
  if (at[1] != '>') return unexpected(text, at, "have \"->\"");
  at += 2;
  ST_TRY(read_subscripts(text, &at, &e->out));
  return *at ? unexpected(text, at, "end") : check_output(e);
}

/* -- The dimensions of the views ------------------------------------------ */

typedef struct frame {
  int n, nout;                /* dimensions; those of the result */
  int place[ST_LABELS], dots; /* of a label; of the first of the ellipsis */
} frame;

static st_status place_code(frame *f, int code, int ndots) {
  const int n = code == DOTS ? ndots : 1;
  if (f->n + n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_VALUE, "the equation has more than %d dimensions",
                    ST_MAX_DIMS);
  }
  if (code == DOTS) f->dots = f->n;
  else f->place[code] = f->n;
  f->n += n;
  return ST_OK;
}

/* The dimensions of the result, an ellipsis that it lacks, and the other
 * labels. */
static st_status make_frame(const equation *e, frame *f) {
  *f = (frame){.dots = -1};
  for (int code = 0; code < ST_LABELS; code++) f->place[code] = -1;
  for (int i = 0; i < e->out.n; i++) {
    ST_TRY(place_code(f, e->out.code[i], e->ndots));
  }
  f->nout = f->n;
  if (f->dots < 0) ST_TRY(place_code(f, DOTS, e->ndots));
  for (int code = 0; code < ST_LABELS; code++) {
    if (e->count[code] > 0 && f->place[code] < 0) {
      ST_TRY(place_code(f, code, e->ndots));
    }
  }
  return ST_OK;
}

/* The diagonal of two dimensions with the same label, in place of the first. */
static const st_tensor *join(st_op_scope *c, const st_tensor *t, int first,
                             int second, int code, int k) {
  if (!st__scope_ok(c)) return NULL;
  if (t->sizes[first] != t->sizes[second]) {
    c->status = st__fail(ST_BAD_SHAPE, "the dimensions with subscript %c of "
                         "tensor %d have sizes %lld and %lld", label_of(code),
                         k + 1, (long long)t->sizes[first],
                         (long long)t->sizes[second]);
    return NULL;
  }
  return ST_APPLY(c, ST_OP_movedim_int,
                  ST_APPLY(c, ST_OP_diagonal, t, 0, first, second), -1, first);
}

/* Where the dimensions of operand k go; joins those with the same label. */
static const st_tensor *places_of(st_op_scope *c, const equation *e,
                                  const frame *f, int k, const st_tensor *t,
                                  int *place) {
  const subscripts *s = &e->in[k];
  const int own = t->ndim - (s->n - 1); /* dimensions of its ellipsis */
  int n = 0, repeats = 0, at[ST_LABELS];
  for (int code = 0; code < ST_LABELS; code++) at[code] = -1;
  for (int i = 0; i < s->n; i++) {
    const int code = s->code[i];
    if (code == DOTS) {
      for (int d = 0; d < own; d++) {
        place[n++] = f->dots + e->ndots - own + d;
      }
    } else if (at[code] < 0) {
      at[code] = n;
      place[n++] = f->place[code];
    } else {
      if (++repeats > REPEATS && st__scope_ok(c)) {
        c->status = st__fail(ST_BAD_VALUE, "more than %d subscripts of tensor "
                             "%d are repeated", REPEATS, k + 1);
      }
      t = join(c, t, at[code], n, code, k);
    }
  }
  return t;
}

/* Operand k as a view with the dimensions of the frame. */
static st_tensor *as_view(st_op_scope *c, const equation *e, const frame *f,
                          int k, const st_tensor *t) {
  int place[ST_MAX_DIMS], n = 0;
  int64_t order[ST_MAX_DIMS], sizes[ST_MAX_DIMS];
  t = places_of(c, e, f, k, t, place);
  if (!st__scope_ok(c)) return NULL;
  for (int p = 0; p < f->n; p++) {
    sizes[p] = 1;
    for (int d = 0; d < t->ndim; d++) {
      if (place[d] != p) continue;
      sizes[p] = t->sizes[d];
      order[n++] = d;
    }
  }
  t = ST_APPLY(c, ST_OP_permute, t, st__of_ints(order, n));
  return ST_APPLY(c, ST_OP_view, t, st__of_ints(sizes, f->n));
}

/* The sizes of the frame's dimensions, and which ones each view has; fails if
 * the views do not broadcast. */
static st_status describe(const frame *f, int n, st_tensor *const *views,
                          st_einsum *e) {
  *e = (st_einsum){.n = n};
  for (int d = 0; d < f->n; d++) {
    int64_t size = 1;
    for (int k = 0; k < n; k++) {
      const int64_t own = views[k]->sizes[d];
      if (own == 1) continue;
      if (size != 1 && own != size) {
        return st__fail(ST_BAD_SHAPE, "a dimension of tensor %d has size %lld, "
                        "but the same subscript of another one has %lld", k + 1,
                        (long long)own, (long long)size);
      }
      size = own;
      e->has[k] |= UINT64_C(1) << d;
    }
    e->size[d] = (double)size;
    if (d < f->nout) e->out |= UINT64_C(1) << d;
  }
  return ST_OK;
}

/* -- One contraction ------------------------------------------------------ */

/* Dimensions of a pair of views by what becomes of them. */
typedef enum part { BATCH, ROWS, INNER, COLUMNS, PARTS } part;

typedef struct dims {
  int n;
  int64_t d[ST_MAX_DIMS];
} dims;

static void add_dim(dims *s, int64_t d) { s->d[s->n++] = d; }

/* Sums t over the dimensions that it has, y lacks, and nothing else needs. They
 * keep size 1. */
static const st_tensor *sum_alone(st_op_scope *c, const st_tensor *t,
                                  const st_tensor *y, uint64_t open) {
  dims alone = {.n = 0};
  for (int d = 0; d < t->ndim; d++) {
    const bool is_alone = t->sizes[d] != 1 && y->sizes[d] == 1;
    if (is_alone && !(open >> d & 1)) add_dim(&alone, d);
  }
  if (alone.n == 0) return t;
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, st__of_ints(alone.d, alone.n),
                  st__of_bool(true), t->dtype);
}

static void sort_dims(const st_tensor *x, const st_tensor *y, uint64_t open,
                      dims parts[PARTS]) {
  for (int d = 0; d < x->ndim; d++) {
    const bool in_x = x->sizes[d] != 1, in_y = y->sizes[d] != 1;
    const part p = in_x && in_y ? (open >> d & 1 ? BATCH : INNER)
                 : in_x ? ROWS : COLUMNS;
    add_dim(&parts[p], d);
  }
}

/* t with its dimensions in the order of four parts, of which the first three
 * are merged into one each; it has none of the fourth. */
static st_tensor *as_matrices(st_op_scope *c, const st_tensor *t,
                              const dims parts[PARTS], const part order[]) {
  int64_t all[ST_MAX_DIMS], sizes[3] = {1, 1, 1};
  int n = 0;
  for (int k = 0; k < PARTS; k++) {
    const dims *s = &parts[order[k]];
    for (int i = 0; i < s->n; i++) {
      all[n++] = s->d[i];
      if (k < 3) sizes[k] *= t->sizes[s->d[i]];
    }
  }
  t = ST_APPLY(c, ST_OP_permute, t, st__of_ints(all, n));
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, 3));
}

/* The product of as_matrices(x) and as_matrices(y), with the dimensions in
 * their places. */
static st_tensor *in_places(st_op_scope *c, const st_tensor *product,
                            const dims parts[PARTS], const st_tensor *x,
                            const st_tensor *y) {
  int64_t sizes[ST_MAX_DIMS], place[ST_MAX_DIMS];
  int n = 0;
  for (int p = 0; p < PARTS; p++) {
    for (int i = 0; i < parts[p].n; i++, n++) {
      const int64_t d = parts[p].d[i];
      place[d] = n;
      sizes[n] = p == INNER ? 1 : p == COLUMNS ? y->sizes[d] : x->sizes[d];
    }
  }
  product = ST_APPLY(c, ST_OP_view, product, st__of_ints(sizes, n));
  return ST_APPLY(c, ST_OP_permute, product, st__of_ints(place, n));
}

/* The product of x and y, summed over the dimensions that are not in `open`. */
static st_tensor *contract(st_op_scope *c, const st_tensor *x,
                           const st_tensor *y, uint64_t open) {
  static const part left[] = {BATCH, ROWS, INNER, COLUMNS};
  static const part right[] = {BATCH, INNER, COLUMNS, ROWS};
  dims parts[PARTS] = {{.n = 0}};
  const st_tensor *a = sum_alone(c, x, y, open);
  const st_tensor *b = sum_alone(c, y, x, open);
  if (!st__scope_ok(c)) return NULL;
  sort_dims(a, b, open, parts);
  if (parts[INNER].n == 0) return st__mul(c, a, b);
  const st_tensor *product = st__apply2(c, ST_OP_bmm,
                                        as_matrices(c, a, parts, left),
                                        as_matrices(c, b, parts, right));
  return in_places(c, product, parts, a, b);
}

/* -- All contractions ----------------------------------------------------- */

/* Views that are left to multiply, owned, and the operands in each. */
typedef struct factors {
  int n;
  st_tensor *t[ST_OPERANDS + 1]; /* a product is added before its factors go */
  uint64_t members[ST_OPERANDS + 1];
} factors;

static void release_factors(factors *s) {
  while (s->n > 0) st__tensor_release(&s->t[--s->n]);
}

/* Ends the scope, whose result t becomes one more factor. */
static st_status push(factors *s, st_op_scope *c, st_tensor *t,
                      uint64_t members) {
  st_value made;
  ST_TRY(st__scope_return(c, t, &made));
  s->t[s->n] = made.u.tensor;
  s->members[s->n++] = members;
  return ST_OK;
}

static st_status make_views(const equation *e, const frame *f, st_tensors t,
                            factors *s) {
  for (int k = 0; k < e->n; k++) {
    st_op_scope c = {.n = 0};
    ST_TRY(push(s, &c, as_view(&c, e, f, k, t.p[k]), UINT64_C(1) << k));
  }
  return ST_OK;
}

static void drop(factors *s, int k) {
  st__tensor_release(&s->t[k]);
  for (s->n--; k < s->n; k++) {
    s->t[k] = s->t[k + 1];
    s->members[k] = s->members[k + 1];
  }
}

/* Replaces factors i and j by their product, which becomes the last one. */
static st_status contract_pair(const st_einsum *e, factors *s, int i, int j) {
  const uint64_t members = s->members[i] | s->members[j];
  st_op_scope c = {.n = 0};
  ST_TRY(st__poll_interrupt());
  ST_TRY(push(s, &c, contract(&c, s->t[i], s->t[j],
                              st__einsum_open(e, members)), members));
  drop(s, i > j ? i : j);
  drop(s, i > j ? j : i);
  return ST_OK;
}

/* Positions in the list of factors, in pairs, as they are when each pair is
 * contracted. */
static st_status read_path(st_ints given, int n, int64_t *path) {
  if ((int)given.n != 2 * (n - 1)) {
    return st__fail(ST_BAD_VALUE, "path must have %d positions for %d tensors, "
                    "two for each product, not %u", 2 * (n - 1), n, given.n);
  }
  for (int i = 0; i < (int)given.n; i++) {
    path[i] = given.p[i];
    const bool is_first = i % 2 == 0;
    if (path[i] >= 0 && path[i] < n - i / 2 &&
        (is_first || path[i] != path[i - 1])) continue;
    return st__fail(ST_BAD_INDEX, "path names tensor %lld where there are %d%s",
                    (long long)st__display_index(path[i]), n - i / 2,
                    is_first ? "" : ", or twice the same");
  }
  return ST_OK;
}

/* Sums over or removes the dimensions that the result does not have. The result
 * is a new tensor, also where it is a view of a single operand. */
static st_status finish(const factors *s, const frame *f, int n,
                        st_value *rets) {
  st_op_scope c = {.n = 0};
  const st_tensor *t = s->t[0];
  dims summed = {.n = 0};
  for (int d = f->nout; d < f->n; d++) add_dim(&summed, d);
  if (f->nout == f->n && n == 1) {
    return st__scope_return(&c, st__apply1(&c, ST_OP_clone, t), rets);
  }
  if (f->nout == f->n) return st__return_tensor(t, rets);
  st_tensor *out =
    n > 1
      ? ST_APPLY(&c, ST_OP_view, t, st__of_ints(t->sizes, f->nout))
      : ST_APPLY(&c, ST_OP_sum_dim_IntList, t, st__of_ints(summed.d, summed.n));
  return st__scope_return(&c, out, rets);
}

/* What is known before the first product; the caller releases the factors. */
typedef struct job {
  equation e;
  frame f;
  factors s;
  st_einsum order;
  int64_t path[2 * ST_OPERANDS];
} job;

static st_status begin(const st_value *args, job *j) {
  const char *text = st__next(&args)->u.string;
  ST_ARGS(TENSORS(tensors), BOXED(given));
  j->s.n = 0;
  ST_TRY(read_equation(text, tensors, &j->e));
  ST_TRY(make_frame(&j->e, &j->f));
  ST_TRY(make_views(&j->e, &j->f, tensors, &j->s));
  ST_TRY(describe(&j->f, j->e.n, j->s.t, &j->order));
  if (!st__is_none(given)) {
    return read_path(st__next_ints(&given), j->e.n, j->path);
  }
  st__einsum_path(&j->order, j->path);
  return ST_OK;
}

ST_BOXED(st__box_einsum) {
  job j;
  st_status status = begin(args, &j);
  for (int i = 0; status == ST_OK && j.s.n > 1; i += 2) {
    status = contract_pair(&j.order, &j.s, (int)j.path[i], (int)j.path[i + 1]);
  }
  if (status == ST_OK) status = finish(&j.s, &j.f, j.e.n, rets);
  release_factors(&j.s);
  return status;
}

/* -- The path as text ----------------------------------------------------- */

/* The dimensions that have labels in s, of whose ellipsis there are ndots. */
static uint64_t labelled(const equation *e, const frame *f,
                         const subscripts *s, int ndots) {
  uint64_t set = 0;
  for (int i = 0; i < s->n; i++) {
    if (s->code[i] != DOTS) set |= UINT64_C(1) << f->place[s->code[i]];
  }
  for (int d = 0; s->dots >= 0 && d < ndots; d++) {
    set |= UINT64_C(1) << (f->dots + e->ndots - ndots + d);
  }
  return set;
}

ST_BOXED(st__box_einsum_path) {
  const st_tensors tensors = {args[1].u.tensors, args[1].len};
  st_einsum_names names = {.equation = args[0].u.string};
  char *text = NULL;
  job j;
  st_status status = begin(args, &j);
  release_factors(&j.s);
  ST_TRY(status);
  for (int code = 0; code < ST_LABELS; code++) {
    if (j.f.place[code] >= 0) names.label[j.f.place[code]] = label_of(code);
  }
  for (int d = 0; d < j.e.ndots; d++) names.label[j.f.dots + d] = '.';
  for (int k = 0; k < j.e.n; k++) {
    const subscripts *s = &j.e.in[k];
    names.has[k] = labelled(&j.e, &j.f, s, tensors.p[k]->ndim - (s->n - 1));
  }
  names.out = labelled(&j.e, &j.f, &j.e.out, j.e.ndots);
  ST_TRY(st__einsum_describe(&j.order, &names, j.path, &text));
  const st_value v = st__of_text(text);
  status = st__value_copy(&v, rets);
  st__text_free(&text);
  return status;
}
