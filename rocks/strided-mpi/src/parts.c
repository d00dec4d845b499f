/* Deterministic reductions: all_reduce_parts and reduce_parts.
 *
 * Note [The tree of parts]
 * The parts of all ranks, in the order of ranks, are the leaves 0 to P - 1 of a
 * binary tree. Node i of level k + 1 combines the nodes 2i and 2i + 1 of level
 * k, in this order; if 2i is the last node of its level, it is node 2i itself.
 * The root is the result. The tree depends on P only, and so do the bits of the
 * result, wherever the leaves are.
 *
 * A rank combines what it can without the others. What is left are at most two
 * nodes per level, and only one if it has 2^k parts from a multiple of 2^k on,
 * or all of them. Which nodes are left on a rank follows from the numbers of
 * parts. Each rank then gets its share of the elements of all these nodes,
 * combines them to the root, and sends that share to the others: for one node
 * per rank, as much traffic as an all_reduce.
 */

#include <stdlib.h>
#include <string.h>

#include "stmpi.h"

/* COLUMNS are reduced at a time, which bounds the buffers. MAX_LEVELS bounds the
 * number of parts, by 2^MAX_LEVELS. */
enum { COLUMNS = 1 << 22, MAX_LEVELS = 32, MAX_NODES = 2 * (MAX_LEVELS + 1) };

/* -- The tree ------------------------------------------------------------- */

typedef struct node {
  int level;
  int64_t index;
  st_tensor *t;    /* NULL while only the shape of the tree matters */
  bool is_ours;    /* t may be written */
} node;

/* Nodes from left to right, of which no two can be combined. */
typedef struct row {
  stmpi_reduction reduction;
  int64_t nparts;  /* P */
  int n;
  node nodes[MAX_NODES];
} row;

static void row_clear(row *w) {
  for (int i = 0; i < w->n; i++) st_tensor_release(&w->nodes[i].t);
  w->n = 0;
}

/* The number of nodes of a level. */
static int64_t width(const row *w, int level) {
  return ((w->nparts - 1) >> level) + 1;
}

/* Combines the last two nodes, or moves the last one up, if the tree says so.
 * *did: something was done. */
static st_status fold(row *w, bool *did) {
  node *const right = &w->nodes[w->n - 1];
  node *const left = w->n > 1 ? right - 1 : NULL;
  const bool is_last = right->index == width(w, right->level) - 1;
  *did = true;
  if (left && left->level == right->level && right->index % 2 == 1 &&
      left->index == right->index - 1) {
    st_tensor *to = left->is_ours ? left->t : right->is_ours ? right->t : NULL;
    if (left->t) {
      if (to) st_tensor_retain(to);
      else TRY(stmpi_new(left->t, 1, st_tensor_sizes(left->t), &to));
      const st_status status = stmpi_combine(w->reduction, left->t, right->t,
                                             to);
      if (status != ST_OK) st_tensor_release(&to);
      TRY(status);
    }
    st_tensor_release(&left->t);
    st_tensor_release(&right->t);
    *left = (node){left->level + 1, left->index / 2, to, true};
    w->n--;
  } else if (is_last && right->index > 0 && right->index % 2 == 0) {
    right->level++;
    right->index /= 2;
  } else {
    *did = false;
  }
  return ST_OK;
}

/* Adds the node to the right of all others; takes its tensor. */
static st_status push(row *w, node x) {
  bool did = true;
  w->nodes[w->n++] = x;
  while (did) TRY(fold(w, &did));
  return ST_OK;
}

/* -- The plan of a reduction ---------------------------------------------- */

typedef struct plan {
  stmpi_job *j;
  int64_t *nparts;   /* of each rank; then arrays of as many int */
  int64_t first;     /* the number of this rank's first part */
  int *nnodes;       /* that are left on each rank */
  int *counts, *offsets;   /* elements from, or to, each rank */
  int *counts2, *offsets2;
  int64_t total;
  row own;           /* this rank's nodes */
} plan;

static void plan_clear(plan *p) {
  row_clear(&p->own);
  free(p->nparts);
  free(p->nnodes);
}

static st_status plan_init(plan *p, stmpi_job *j, int64_t nparts) {
  const size_t size = (size_t)j->c->size;
  *p = (plan){.j = j};
  p->nparts = calloc(size, sizeof *p->nparts);
  p->nnodes = calloc(5 * size, sizeof *p->nnodes);
  if (!p->nparts || !p->nnodes) {
    return st_fail(ST_NO_MEMORY, "no memory for the numbers of parts");
  }
  p->counts = p->nnodes + size;
  p->offsets = p->counts + size;
  p->counts2 = p->offsets + size;
  p->offsets2 = p->counts2 + size;
  TRY(stmpi_check(MPI_Allgather(&nparts, 1, MPI_INT64_T, p->nparts, 1,
                                MPI_INT64_T, j->c->comm), "MPI_Allgather"));
  for (int r = 0; r < j->c->size; r++) {
    if (r == j->c->rank) p->first = p->total;
    p->total += p->nparts[r];
  }
  p->own.reduction = j->reduction;
  p->own.nparts = p->total;
  if (p->total >> MAX_LEVELS) {
    return st_fail(ST_BAD_SHAPE, "there are more than 2^%d parts", MAX_LEVELS);
  }
  if (p->total > 0) return ST_OK;
  return st_fail(ST_BAD_SHAPE, "no rank has any parts");
}

/* The nodes that are left on rank r, without their tensors. */
static st_status nodes_of(const plan *p, int r, row *out) {
  int64_t first = 0;
  *out = (row){.nparts = p->total};
  for (int i = 0; i < r; i++) first += p->nparts[i];
  for (int64_t i = 0; i < p->nparts[r]; i++) {
    TRY(push(out, (node){0, first + i, NULL, false}));
  }
  return ST_OK;
}

/* The first column of rank r's share of n columns. */
static int64_t share(const plan *p, int r, int64_t n) {
  return n * r / p->j->c->size;
}

/* A vector of n elements from number `at` of t's memory, which must outlive
 * it. */
static st_status vector(st_tensor *t, int64_t at, int64_t n, st_tensor **out) {
  const st_dtype d = st_tensor_dtype(t);
  const size_t size = st_dtype_size(d);
  return st_tensor_wrap((char *)st_tensor_data(t) + (size_t)at * size,
                        (size_t)n * size, d, 1, &n, NULL, 0, NULL, NULL, out);
}

/* -- Columns -------------------------------------------------------------- */

/* Combines this rank's parts, of n columns from number `at`. */
static st_status reduce_own(plan *p, int64_t at, int64_t n) {
  stmpi_job *const j = p->j;
  row_clear(&p->own);
  for (int64_t i = 0; i < p->nparts[j->c->rank]; i++) {
    node x = {0, p->first + i, NULL, false};
    TRY(vector(j->in, i * j->n + at, n, &x.t));
    TRY(push(&p->own, x));
  }
  return ST_OK;
}

/* The nodes' elements in the order of the ranks that get them. */
static void pack(const plan *p, int64_t n, char *to) {
  const size_t size = st_dtype_size(p->j->dtype);
  for (int r = 0; r < p->j->c->size; r++) {
    const size_t from = (size_t)share(p, r, n) * size;
    const size_t bytes = (size_t)share(p, r + 1, n) * size - from;
    for (int i = 0; i < p->own.n && bytes; i++) {
      memcpy(to, (char *)st_tensor_data(p->own.nodes[i].t) + from, bytes);
      to += bytes;
    }
  }
}

static st_status exchange(plan *p, int64_t n, const void *from, void *to) {
  const stmpi_comm *c = p->j->c;
  const int64_t mine = share(p, c->rank + 1, n) - share(p, c->rank, n);
  int64_t sent = 0, got = 0;
  for (int r = 0; r < c->size; r++) {
    const int64_t out = share(p, r + 1, n) - share(p, r, n);
    p->counts[r] = (int)(out * p->own.n);
    p->counts2[r] = (int)(mine * p->nnodes[r]);
    p->offsets[r] = (int)sent;
    p->offsets2[r] = (int)got;
    sent += p->counts[r];
    got += p->counts2[r];
  }
  return stmpi_check(
    MPI_Alltoallv(from, p->counts, p->offsets, p->j->type, to, p->counts2,
                  p->offsets2, p->j->type, c->comm), "MPI_Alltoallv");
}

/* Combines the nodes of all ranks, which lie in `got`, to the root. */
static st_status reduce_all(const plan *p, st_tensor *got, int64_t n,
                            row *out) {
  int64_t at = 0;
  out->reduction = p->j->reduction;
  out->nparts = p->total;
  for (int r = 0; r < p->j->c->size; r++) {
    row of;
    TRY(nodes_of(p, r, &of));
    for (int i = 0; i < of.n; i++, at += n) {
      node x = of.nodes[i];
      x.is_ours = true;
      TRY(vector(got, at, n, &x.t));
      TRY(push(out, x));
    }
  }
  return ST_OK;
}

/* Sends the shares of the result to all ranks, or to root. */
static st_status collect(plan *p, const void *from, int64_t at, int64_t n) {
  const stmpi_job *j = p->j;
  const int mine = (int)(share(p, j->c->rank + 1, n) -
                         share(p, j->c->rank, n));
  char *const to = j->out ? (char *)st_tensor_data(j->out) +
                            (size_t)at * st_dtype_size(j->dtype) : NULL;
  for (int r = 0; r < j->c->size; r++) {
    p->offsets[r] = (int)share(p, r, n);
    p->counts[r] = (int)share(p, r + 1, n) - p->offsets[r];
  }
  if (j->root < 0) {
    return stmpi_check(MPI_Allgatherv(from, mine, j->type, to, p->counts,
                                      p->offsets, j->type, j->c->comm),
                       "MPI_Allgatherv");
  }
  return stmpi_check(MPI_Gatherv(from, mine, j->type, to, p->counts,
                                 p->offsets, j->type, j->root, j->c->comm),
                     "MPI_Gatherv");
}

static st_status reduce_columns(plan *p, int64_t at, int64_t n) {
  stmpi_job *const j = p->j;
  const int rank = j->c->rank;
  const int64_t mine = share(p, rank + 1, n) - share(p, rank, n);
  st_tensor *sent = NULL, *got = NULL;
  row all = {.n = 0};
  int64_t nnodes = 0;
  TRY(reduce_own(p, at, n));
  for (int r = 0; r < j->c->size; r++) nnodes += p->nnodes[r];
  const int64_t sizes[] = {p->own.n * n, nnodes * mine};
  st_status status = stmpi_new(j->in, 1, &sizes[0], &sent);
  if (status == ST_OK) status = stmpi_new(j->in, 1, &sizes[1], &got);
  if (status == ST_OK) {
    pack(p, n, st_tensor_data(sent));
    status = exchange(p, n, st_tensor_data(sent), st_tensor_data(got));
  }
  if (status == ST_OK) status = reduce_all(p, got, mine, &all);
  if (status == ST_OK) {
    status = collect(p, st_tensor_data(all.nodes[0].t), at, n);
  }
  row_clear(&all);
  st_tensor_release(&sent);
  st_tensor_release(&got);
  return status;
}

static st_status reduce_parts_in(plan *p) {
  stmpi_job *const j = p->j;
  const int64_t most = stmpi_piece() < COLUMNS ? stmpi_piece() : COLUMNS;
  for (int r = 0; r < j->c->size; r++) {
    row of;
    TRY(nodes_of(p, r, &of));
    p->nnodes[r] = of.n;
  }
  for (int64_t at = 0; at < j->n; at += most) {
    TRY(reduce_columns(p, at, j->n - at < most ? j->n - at : most));
  }
  if (j->reduction != STMPI_AVG || !j->out) return ST_OK;
  return stmpi_divide(j->out, p->total);
}

static st_status start_parts(stmpi_job *j) {
  plan p;
  st_status status = plan_init(&p, j, st_tensor_sizes(j->in)[0]);
  if (status == ST_OK) status = reduce_parts_in(&p);
  plan_clear(&p);
  return status;
}

/* -- Kernels -------------------------------------------------------------- */

/* Begins both: j->out is a tensor of the shape of a part. */
static st_status begin(const st_call *call, st_tensor *parts,
                       const st_value *op, const st_value *comm,
                       stmpi_job *j) {
  TRY(stmpi_job_begin(call, parts, comm, j));
  TRY(stmpi_set_reduction(j, op));
  j->divides = false; /* by the number of parts instead */
  j->skip = 1;
  if (st_tensor_ndim(parts) == 0) {
    return st_fail(ST_BAD_SHAPE, "parts must have a first dimension, that of "
                   "the parts");
  }
  j->n = 1;
  for (int i = 1; i < st_tensor_ndim(parts); i++) {
    j->n *= st_tensor_sizes(parts)[i];
  }
  TRY(stmpi_contiguous(parts, &j->in));
  return stmpi_prepared(j, stmpi_new(parts, st_tensor_ndim(parts) - 1,
                                     st_tensor_sizes(parts) + 1, &j->out));
}

static st_status all_reduce_parts(const st_call *call, const st_value *args,
                                  st_value *rets) {
  st_tensor *const parts = args[0].u.tensor;
  stmpi_job j;
  TRY(begin(call, parts, &args[1], &args[2], &j));
  return stmpi_job_end(&j, parts, start_parts, stmpi_retained(j.out), rets);
}

static st_status reduce_parts(const st_call *call, const st_value *args,
                              st_value *rets) {
  st_tensor *const parts = args[0].u.tensor, *result = NULL;
  const int64_t none = 0;
  stmpi_job j;
  TRY(begin(call, parts, &args[2], &args[3], &j));
  TRY(stmpi_prepared(&j, stmpi_set_root(&j, &args[1])));
  if (j.c->rank == j.root) {
    result = stmpi_retained(j.out);
  } else {
    st_tensor_release(&j.out);
    TRY(stmpi_prepared(&j, stmpi_new(parts, 1, &none, &result)));
  }
  return stmpi_job_end(&j, parts, start_parts, result, rets);
}

const stmpi_operator stmpi_parts[] = {
  {"all_reduce_parts(Tensor parts, str op=\"sum\", int comm=0) -> Tensor",
   "The reduction of all ranks' parts, by a tree that does not depend on the "
   "number of ranks.", all_reduce_parts, false, false,
   "parts: mpi::_all_reduce_parts_back(grad, shape(parts), op, comm)"},
  {"reduce_parts(Tensor parts, int root=0, str op=\"sum\", int comm=0) "
   "-> Tensor", "all_reduce_parts on root; an empty tensor elsewhere.",
   reduce_parts, false, false,
   "parts: mpi::_reduce_parts_back(grad, shape(parts), root, op, comm)"},
  {0},
};
