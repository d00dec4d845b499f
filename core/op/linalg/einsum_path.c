/* The order of the contractions of einsum, and what st.explain says of it.
 *
 * Source: D. G. A. Smith, J. Gray, "opt_einsum", Journal of Open Source
 * Software 3(26), 2018: the costs and the greedy order.
 */

#include "op/linalg/einsum.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "op/row/op.h"

enum { EXACT = 8, SETS = 1 << EXACT };

uint64_t st__einsum_open(const st_einsum *e, uint64_t members) {
  uint64_t open = e->out;
  for (int k = 0; k < e->n; k++) {
    if (!(members >> k & 1)) open |= e->has[k];
  }
  return open;
}

/* The dimensions of the product of `members`. */
static uint64_t dims_of(const st_einsum *e, uint64_t members) {
  uint64_t all = 0;
  for (int k = 0; k < e->n; k++) {
    if (members >> k & 1) all |= e->has[k];
  }
  return all & st__einsum_open(e, members);
}

static double elements(const st_einsum *e, uint64_t dims) {
  double n = 1;
  for (int d = 0; dims >> d; d++) {
    if (dims >> d & 1) n *= e->size[d];
    if (d == ST_MAX_DIMS - 1) break;
  }
  return n;
}

/* -- The list of factors -------------------------------------------------- */

/* The operands in each factor that is left, and the path so far. */
typedef struct list {
  int n;
  uint64_t members[ST_OPERANDS];
  int64_t *path;
} list;

static void contract(list *l, int i, int j) {
  const uint64_t both = l->members[i] | l->members[j];
  int n = 0;
  *l->path++ = i;
  *l->path++ = j;
  for (int k = 0; k < l->n; k++) {
    if (k != i && k != j) l->members[n++] = l->members[k];
  }
  l->members[n++] = both;
  l->n = n;
}

static int find(const list *l, uint64_t members) {
  int i = 0;
  while (l->members[i] != members) i++;
  return i;
}

/* -- The fewest multiplications ------------------------------------------- */

/* For each set of operands the first factor of the last product. */
typedef struct plan {
  double cost[SETS];
  uint8_t first[SETS];
  uint64_t dims[SETS];
} plan;

/* Without the last operand, the others in their order; another split only if it
 * costs less. */
static void choose_split(const st_einsum *e, plan *p, unsigned set) {
  unsigned last = set;
  while (last & (last - 1)) last &= last - 1;
  p->cost[set] = INFINITY;
  for (unsigned s = set; s; s = (s - 1) & set) {
    const unsigned a = s == set ? set ^ last : s, b = set ^ a;
    if (a == 0 || b == 0) continue;
    const double cost = p->cost[a] + p->cost[b] +
                        elements(e, p->dims[a] | p->dims[b]);
    if (cost >= p->cost[set]) continue;
    p->cost[set] = cost;
    p->first[set] = (uint8_t)a;
  }
}

static void emit(const plan *p, list *l, unsigned set) {
  if ((set & (set - 1)) == 0) return;
  const unsigned a = p->first[set], b = set ^ a;
  emit(p, l, a);
  emit(p, l, b);
  contract(l, find(l, a), find(l, b));
}

static void exact_path(const st_einsum *e, list *l) {
  plan p;
  const unsigned all = (1u << e->n) - 1;
  for (unsigned set = 1; set <= all; set++) {
    p.dims[set] = dims_of(e, set);
    p.cost[set] = 0;
    p.first[set] = (uint8_t)set;
    if (set & (set - 1)) choose_split(e, &p, set);
  }
  emit(&p, l, all);
}

/* -- Greedy --------------------------------------------------------------- */

static double growth(const st_einsum *e, uint64_t a, uint64_t b) {
  return elements(e, dims_of(e, a | b)) - elements(e, dims_of(e, a)) -
         elements(e, dims_of(e, b));
}

static void greedy_path(const st_einsum *e, list *l) {
  while (l->n > 1) {
    int first = 0, second = 1;
    double least = INFINITY;
    for (int i = 0; i < l->n; i++) {
      for (int j = i + 1; j < l->n; j++) {
        const double g = growth(e, l->members[i], l->members[j]);
        if (g >= least) continue;
        least = g;
        first = i;
        second = j;
      }
    }
    contract(l, first, second);
  }
}

void st__einsum_path(const st_einsum *e, int64_t *path) {
  list l = {.n = e->n, .path = path};
  for (int k = 0; k < e->n; k++) l.members[k] = UINT64_C(1) << k;
  if (e->n <= EXACT) exact_path(e, &l);
  else greedy_path(e, &l);
}

/* -- Descriptions --------------------------------------------------------- */

/* Where numbers are too large to be exact, their first digits. */
static void add_number(st_text *t, double n) {
  st__text_format(t, n < 1e15 ? "%.0f" : "%.3g", n);
}

/* The three dots of an ellipsis stand for all its dimensions. */
static void add_labels(st_text *t, const char *label, uint64_t dims) {
  bool in_dots = false;
  for (int d = 0; d < ST_MAX_DIMS; d++) {
    if (!(dims >> d & 1)) continue;
    if (label[d] != '.') st__text_add(t, &label[d], 1);
    else if (!in_dots) st__text_puts(t, "...");
    in_dots = label[d] == '.';
  }
}

/* The subscripts of operand k as they are written. */
static void add_subscripts(st_text *t, const char *equation, int k) {
  const char *p = equation;
  while (k > 0) k -= *p++ == ',';
  for (; *p && *p != ',' && *p != '-'; p++) {
    if (*p != ' ') st__text_add(t, p, 1);
  }
}

static void add_shape(st_text *t, const double *sizes, int n) {
  for (int i = 0; i < n; i++) {
    st__text_puts(t, i == 0 ? "[" : ", ");
    add_number(t, sizes[i]);
  }
  st__text_puts(t, n == 0 ? "[]" : "]");
}

static void add_sizes(st_text *t, const st_einsum *e, uint64_t dims) {
  double sizes[ST_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < ST_MAX_DIMS; d++) {
    if (dims >> d & 1) sizes[n++] = e->size[d];
  }
  add_shape(t, sizes, n);
}

/* Of the factors with the dimensions a and b: contract() of einsum.c. */
static void add_operator(st_text *t, const st_einsum *e, uint64_t a,
                         uint64_t b, uint64_t open) {
  const uint64_t inner = a & b & ~open;
  const double batch = elements(e, a & b & open);
  const double left[] = {batch, elements(e, a & ~b), elements(e, inner)};
  const double right[] = {batch, elements(e, inner), elements(e, b & ~a)};
  if (inner == 0) {
    st__text_puts(t, "mul");
    return;
  }
  st__text_puts(t, "bmm of ");
  add_shape(t, left, 3);
  st__text_puts(t, " and ");
  add_shape(t, right, 3);
}

static double cost_of(const st_einsum *e, uint64_t a, uint64_t b) {
  return elements(e, dims_of(e, a) | dims_of(e, b));
}

static double cost_from_left(const st_einsum *e) {
  double cost = 0;
  for (int k = 1; k < e->n; k++) {
    cost += cost_of(e, (UINT64_C(1) << k) - 1, UINT64_C(1) << k);
  }
  return cost;
}

static void add_factor(st_text *t, const st_einsum *named,
                       const st_einsum_names *names, uint64_t members) {
  int k = 0;
  while (!(members >> k & 1)) k++;
  if (members >> k == 1) add_subscripts(t, names->equation, k);
  else add_labels(t, names->label, dims_of(named, members));
}

static void add_cost(st_text *t, double cost) {
  add_number(t, cost);
  st__text_puts(t, cost == 1 ? " multiply-add" : " multiply-adds");
}

/* A line for the product of a and b. named: e with the dimensions that have
 * labels. */
static void add_product(st_text *t, const st_einsum *e, const st_einsum *named,
                        const st_einsum_names *names, uint64_t a, uint64_t b) {
  const uint64_t both = a | b;
  st__text_puts(t, "\n");
  add_factor(t, named, names, a);
  st__text_puts(t, ",");
  add_factor(t, named, names, b);
  st__text_puts(t, " -> ");
  add_labels(t, names->label, dims_of(named, both));
  st__text_puts(t, " of ");
  add_sizes(t, e, dims_of(named, both));
  st__text_puts(t, ": ");
  add_cost(t, cost_of(e, a, b));
  st__text_puts(t, ", ");
  add_operator(t, e, dims_of(e, a), dims_of(e, b), st__einsum_open(e, both));
}

st_status st__einsum_describe(const st_einsum *e, const st_einsum_names *names,
                              const int64_t *path, char **text) {
  int64_t same[2 * ST_OPERANDS];
  st_text products = {0}, t = {0};
  char *lines = NULL;
  st_einsum named = *e;
  list l = {.n = e->n, .path = same};
  double cost = 0;
  named.out = names->out;
  for (int k = 0; k < e->n; k++) {
    named.has[k] = names->has[k];
    l.members[k] = UINT64_C(1) << k;
  }
  st__text_puts(&t, "{");
  for (; l.n > 1; path += 2) {
    const int i = (int)path[0], j = (int)path[1];
    const uint64_t a = l.members[i], b = l.members[j];
    st__text_format(&t, "%s%" PRId64 ", %" PRId64, l.n < e->n ? ", " : "",
                    st__display_index(i), st__display_index(j));
    add_product(&products, e, &named, names, a, b);
    cost += cost_of(e, a, b);
    contract(&l, i, j);
  }
  st__text_puts(&t, "}: ");
  add_cost(&t, cost);
  st__text_puts(&t, ", from left to right ");
  add_number(&t, cost_from_left(e));
  st_status status = st__text_finish(&products, &lines);
  if (status == ST_OK) st__text_puts(&t, lines);
  st__text_free(&lines);
  if (status == ST_OK) return st__text_finish(&t, text);
  char *rest = NULL;
  if (st__text_finish(&t, &rest) == ST_OK) st__text_free(&rest);
  return status;
}
