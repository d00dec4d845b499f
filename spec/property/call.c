/* Makes the call of a case and holds it against what the naive loop expects:
 * the values, and every byte of memory that the call could reach.
 */

#include "property.h"

/* -- Calling -------------------------------------------------------------- */

static const st_op *find(const row *r, variant v) {
  const bool only = r->name[strlen(r->name) - 1] == '_';
  char name[64];
  snprintf(name, sizeof name, "aten::%s%s", r->name,
           v == INPLACE && !only ? "_" : "");
  const st_op *op = st_op_find(name, v == INPLACE ? r->inplace
                               : v == OUT ? r->out : r->overload);
  if (!op) fprintf(stderr, "no operator %s for %s\n", name, r->overload);
  CHECK(op);
  return op;
}

/* Looked up once. */
static const st_op *op_of(const row *r, variant v) {
  static const st_op *found[256][3];
  const st_op **op = &found[r - rows][v];
  if (!*op) *op = find(r, v);
  return *op;
}

static st_value of_tensor(st_tensor *t) {
  return (st_value){ST_TAG_TENSOR, 0, {.tensor = t}};
}

static st_value of_number(const st_scalar *s) {
  switch (s->kind) {
    case ST_SCALAR_BOOL: return (st_value){ST_TAG_BOOL, 0, {.i = s->u.i}};
    case ST_SCALAR_INT: return (st_value){ST_TAG_INT, 0, {.i = s->u.i}};
    case ST_SCALAR_UINT: return (st_value){ST_TAG_UINT, 0, {.u = s->u.u}};
    case ST_SCALAR_FLOAT: return (st_value){ST_TAG_FLOAT, 0, {.f = s->u.f}};
    default: return (st_value){ST_TAG_COMPLEX, 0, {.pair = s->u.c}};
  }
}

static st_value of_word(const char *s) {
  return (st_value){ST_TAG_STRING, (uint32_t)strlen(s), {.string = s}};
}

static st_value argument(const test *t, char letter, int *operands,
                         int *numbers) {
  const st_value none = {ST_TAG_NONE, 0, {0}};
  switch (letter) {
    case 't': case 'm': case 'z':
      return of_tensor(t->operand[(*operands)++].tensor);
    case 'n': return of_number(&t->operand[(*operands)++].number);
    case 'p': case 'b': case 'v': return of_number(&t->number[(*numbers)++]);
    case 'F': return of_word("floor");
    case 'T': return of_word("trunc");
    case 'd': return (st_value){ST_TAG_INT, 0, {.i = t->to}};
    case '0': return (st_value){ST_TAG_BOOL, 0, {.i = 0}};
    case '?': return (st_value){ST_TAG_BOOL, 0, {.i = t->flag}};
    case 'f':
      if (t->format != ST_FORMAT_COUNT) {
        return (st_value){ST_TAG_INT, 0, {.i = t->format}};
      }
      return none;
    default: return none;
  }
}

static st_status call(const test *t, st_tensor **out) {
  st_value args[8], ret;
  int n = 0, operands = 0, numbers = 0;
  for (const char *c = t->row->args; *c; c++) {
    args[n++] = argument(t, *c, &operands, &numbers);
  }
  /* contiguous() takes no "none" */
  if (t->row->op == OP_CONTIGUOUS && t->format == ST_FORMAT_COUNT) n--;
  if (t->variant == OUT) args[n++] = of_tensor(t->out.tensor);
  const st_status status = st_call_op(op_of(t->row, t->variant), n, args,
                                      &ret);
  *out = status == ST_OK ? ret.u.tensor : NULL;
  return status;
}

/* -- By the engine in the plainest way ------------------------------------ */

/* Contiguous operands of the common dtype, one thread. */
static char *ask_engine(const test *t, const verdict *v) {
  const size_t nbytes = (size_t)count_elements(&v->shape) *
                        st_dtype_size(v->common);
  char *data[MOST_OPERANDS], *answer = malloc(nbytes + 1);
  st_value args[MOST_OPERANDS], ret;
  CHECK(answer);
  CHECK(st_set_num_threads(1) == ST_OK);
  for (int k = 0; k < t->noperands; k++) {
    data[k] = spread(t, v, k);
    args[k].tag = ST_TAG_TENSOR;
    CHECK(st_tensor_wrap(data[k], nbytes, v->common, v->shape.ndim,
                         v->shape.sizes, NULL, 0, NULL, NULL,
                         &args[k].u.tensor) == ST_OK);
  }
  CHECK(st_call_op(op_of(t->row, NEW), t->noperands, args, &ret) == ST_OK);
  CHECK(st_tensor_dtype(ret.u.tensor) == v->computed &&
        st_tensor_is_contiguous(ret.u.tensor, ST_FORMAT_CONTIGUOUS));
  if (nbytes) memcpy(answer, st_tensor_data(ret.u.tensor), nbytes);
  st_value_clear(&ret);
  for (int k = 0; k < t->noperands; k++) {
    st_tensor_release(&args[k].u.tensor);
    free(data[k]);
  }
  return answer;
}

/* -- Reports -------------------------------------------------------------- */

FILE *reports;

static void print_list(const char *what, int n, const int64_t *p) {
  fprintf(reports, "%s(", what);
  for (int i = 0; i < n; i++) {
    fprintf(reports, "%s%lld", i ? "," : "", (long long)p[i]);
  }
  fprintf(reports, ")");
}

static void print_view(const char *what, const view *v) {
  fprintf(reports, "  %-9s %s ", what, st_dtype_name(v->dtype));
  print_list("", v->shape.ndim, v->shape.sizes);
  print_list("@", v->shape.ndim, v->strides);
  fprintf(reports, "+%lld in area %d, %s%s%s\n", (long long)v->offset, v->area,
          v->kind, v->is_conj ? ", conjugate" : "",
          v->is_neg ? ", negative" : "");
}

static void print_scalar(const char *what, st_scalar s) {
  char element[16];
  store(widest(s), number_of(s), element);
  fprintf(reports, "  %-9s %s ", what, st_dtype_name(widest(s)));
  print_number(reports, widest(s), element);
  fprintf(reports, "\n");
}

static void print_case(const test *t) {
  static const char *const names[] = {"operand 0", "operand 1", "operand 2"};
  fprintf(reports, "%s on %s, %d threads\n",
          st_op_schema(op_of(t->row, t->variant)), st_isa(), t->threads);
  for (int k = 0; k < t->noperands; k++) {
    const operand *o = &t->operand[k];
    if (o->source == VIEW) print_view(names[k], &o->view);
    else print_scalar(names[k], o->number);
  }
  for (int k = 0; k < t->nnumbers; k++) print_scalar("number", t->number[k]);
  if (t->row->op == OP_TO) {
    fprintf(reports, "  to        %s\n", st_dtype_name(t->to));
  }
  if (t->format < ST_FORMAT_COUNT) {
    fprintf(reports, "  format    %s\n", st_format_name(t->format));
  }
  if (t->variant == OUT) print_view("out", &t->out);
}

static bool report(const test *t, const char *what) {
  fprintf(reports, "%s\n", what);
  print_case(t);
  return false;
}

static bool report_element(const test *t, st_dtype d, const shape *s,
                           int64_t i, const void *is, const void *should) {
  int64_t index[ST_MAX_DIMS], left = i;
  for (int k = s->ndim - 1; k >= 0; k--) {
    index[k] = left % s->sizes[k];
    left /= s->sizes[k];
  }
  report(t, "an element is not what the naive loop gives");
  print_list("  at ", s->ndim, index);
  fprintf(reports, " of %s ", st_dtype_name(d));
  print_list("", s->ndim, s->sizes);
  fprintf(reports, ": ");
  print_number(reports, d, is);
  fprintf(reports, ", should be ");
  print_number(reports, d, should);
  fprintf(reports, "\n");
  return false;
}

/* -- Comparing ------------------------------------------------------------ */

/* Bytes of a mask that is looked at as something else, too, may be any. */
static bool same_element(const test *t, const verdict *v, const char *a,
                         const char *b) {
  const size_t size = st_dtype_size(v->result);
  if (memcmp(a, b, size) == 0) return true;
  if (v->result == ST_BOOL) {
    for (int k = 0; k < t->nareas; k++) {
      if (t->area[k].mixed) return (*a != 0) == (*b != 0);
    }
  }
  return !v->moves && same_number(v->result, a, b);
}

typedef struct place { const shape *shape; int64_t index[ST_MAX_DIMS]; } place;

/* The element behind at, in elements, or -1 when there is none. */
static int64_t advance(place *p, const int64_t *strides, int64_t at) {
  for (int d = p->shape->ndim - 1; d >= 0; d--) {
    at += strides[d];
    if (++p->index[d] < p->shape->sizes[d]) return at;
    at -= strides[d] * p->shape->sizes[d];
    p->index[d] = 0;
  }
  return -1;
}

/* A tensor of its own against v->values. */
static bool check_values(const test *t, const verdict *v,
                         const st_tensor *out) {
  const size_t size = st_dtype_size(v->result);
  const int64_t n = count_elements(&v->shape);
  const char *data = st_tensor_data(out);
  shape s = {.ndim = st_tensor_ndim(out)};
  memcpy(s.sizes, st_tensor_sizes(out), (size_t)s.ndim * sizeof *s.sizes);
  if (st_tensor_dtype(out) != v->result) {
    return report(t, "the result has another dtype");
  }
  if (!same_shape(&s, &v->shape)) {
    return report(t, "the result has another shape");
  }
  if (st_tensor_is_contiguous(out, ST_FORMAT_CONTIGUOUS) &&
      memcmp(data, v->values, (size_t)n * size) == 0) {
    return true;
  }
  place p = {.shape = &v->shape};
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    const char *is = data + at * (int64_t)size;
    const char *should = v->values + (size_t)i * size;
    if (!same_element(t, v, is, should)) {
      return report_element(t, v->result, &v->shape, i, is, should);
    }
    at = advance(&p, st_tensor_strides(out), at);
  }
  return true;
}

/* Where area.data and area.after differ by what counts as equal, they are
 * made equal. */
static bool check_written(const test *t, const verdict *v) {
  const area *a = &t->area[t->out.area];
  const int64_t size = (int64_t)st_dtype_size(v->result);
  const int64_t n = count_elements(&v->shape);
  place p = {.shape = &v->shape};
  int64_t at = t->out.offset;
  for (int64_t i = 0; i < n; i++) {
    char *is = a->data + at * size, *should = a->after + at * size;
    if (!same_element(t, v, is, should)) {
      return report_element(t, v->result, &v->shape, i, is, should);
    }
    memcpy(should, is, (size_t)size);
    at = advance(&p, t->out.strides, at) ;
  }
  return true;
}

static bool check_area(const test *t, int k, const char *should) {
  const area *a = &t->area[k];
  if (!guards_hold(a)) return report(t, "memory beyond a storage was written");
  if (memcmp(a->data, should, a->nbytes) == 0) return true;
  size_t at = 0;
  while (a->data[at] == should[at]) at++;
  report(t, "memory was written that is not the output's");
  fprintf(reports, "  byte %zu of area %d, which has %zu\n", at, k, a->nbytes);
  return false;
}

static bool check_areas(const test *t, int written) {
  for (int k = 0; k < t->nareas; k++) {
    if (!check_area(t, k, k == written ? t->area[k].after
                                       : t->area[k].before)) {
      return false;
    }
  }
  return true;
}

/* The header of the output as it was. */
static bool check_header(const test *t) {
  const shape *s = &t->out.shape;
  const st_tensor *out = t->out.tensor;
  const size_t bytes = (size_t)s->ndim * sizeof *s->sizes;
  if (st_tensor_ndim(out) != s->ndim ||
      memcmp(st_tensor_sizes(out), s->sizes, bytes) != 0 ||
      memcmp(st_tensor_strides(out), t->out.strides, bytes) != 0) {
    return report(t, "the output has another shape or other strides");
  }
  return true;
}

/* -- Verdicts ------------------------------------------------------------- */

static bool check_refusal(const test *t, const verdict *v, st_status status,
                          tally *sum) {
  if (status == ST_OK) return report(t, "it had to be refused");
  if (!(v->refusals >> status & 1)) {
    report(t, "it is refused for another reason");
    fprintf(reports, "  %s: %s\n", st_status_name(status), st_message());
    return false;
  }
  sum->refusals++;
  return check_areas(t, -1) && (t->variant == NEW || check_header(t));
}

static bool check_format(const test *t, const st_tensor *out) {
  const bool asks = t->format != ST_FORMAT_COUNT &&
                    t->format != ST_FORMAT_PRESERVE &&
                    (t->row->op != OP_TO || t->flag);
  if (!asks || st_tensor_is_contiguous(out, t->format)) return true;
  return report(t, "the result is not laid out as it was asked for");
}

static bool check_result(const test *t, const verdict *v,
                         const st_tensor *out) {
  const bool is_area = t->variant != NEW && !t->out_is_other;
  if (t->variant != NEW && out != t->out.tensor) {
    return report(t, "the result is not the output that was given");
  }
  if (t->is_lazy && t->variant == NEW && out == t->operand[0].tensor) {
    return check_areas(t, -1); /* it is self, as lazy as before */
  }
  if (!is_area) {
    return check_values(t, v, out) && check_format(t, out) &&
           check_areas(t, -1);
  }
  const area *a = &t->area[t->out.area];
  const bool same = memcmp(a->data, a->after, a->nbytes) == 0;
  return (same || check_written(t, v)) && check_areas(t, t->out.area) &&
         check_header(t);
}

static void count(const test *t, const verdict *v, tally *sum) {
  bool shares = false;
  sum->results++;
  sum->elements += count_elements(&v->shape);
  sum->row[t->row - rows]++;
  for (int k = 0; k < t->noperands && t->variant != NEW; k++) {
    const operand *o = &t->operand[k];
    shares |= o->source == VIEW && o->tensor != t->out.tensor &&
              st_may_share_memory(o->tensor, t->out.tensor);
  }
  sum->sharing += shares;
  if (t->row->op == OP_COPY || t->row->op == OP_TO) {
    sum->copied[v->common][v->result]++;
  }
}

/* One byte that the call left as it should is changed: in a new result or
 * anywhere in an area. False when there is no byte. */
static bool damage(const test *t, dice *d, st_tensor *out) {
  const bool is_new = t->variant == NEW || t->out_is_other;
  const area *a = &t->area[roll(d, t->nareas)];
  const int64_t n = st_tensor_numel(out);
  const size_t size = st_dtype_size(st_tensor_dtype(out));
  char *data = a->data;
  size_t at = (size_t)roll(d, (int64_t)a->nbytes);
  if (is_new && chance(d, 60)) {
    if (n == 0 || !st_tensor_is_dense(out)) return false;
    data = st_tensor_data(out);
    at = (size_t)roll(d, n * (int64_t)size);
  }
  data[at] ^= (char)(1 << roll(d, 8));
  return true;
}

bool run_case(const test *t, dice *spoil, tally *sum) {
  verdict v;
  char *oracle = NULL;
  st_tensor *out = NULL;
  bool good;
  judge(t, &v);
  if (!v.refusals) {
    if (t->row->op == OP_BY_ENGINE) oracle = ask_engine(t, &v);
    expect(t, &v, oracle);
  }
  if (t->scale != SMALL || oracle) {
    CHECK(st_set_num_threads(t->threads) == ST_OK);
  }
  const st_status status = call(t, &out);
  if (v.refusals) {
    good = check_refusal(t, &v, status, sum);
  } else if (status != ST_OK) {
    good = report(t, "it is refused");
    fprintf(reports, "  %s: %s\n", st_status_name(status), st_message());
  } else {
    if (spoil) sum->damaged += damage(t, spoil, out);
    good = check_result(t, &v, out);
    count(t, &v, sum);
  }
  st_tensor_release(&out);
  free(v.values);
  free(oracle);
  return good;
}
