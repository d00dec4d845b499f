/* The order of the contractions of einsum.
 *
 * Source: D. G. A. Smith, J. Gray, "opt_einsum", Journal of Open Source
 * Software 3(26), 2018: the costs and the greedy order.
 */

#include "op/linalg/einsum.h"

#include <math.h>

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
