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
 *
 * Both forms take the same stages: Note [Stages] in job.c. The blocking one
 * calls collectives.
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

/* What is waited for. */
typedef enum stage {
  NPARTS,  /* the numbers of parts */
  NODES,   /* this rank's share of all nodes */
  SHARES   /* the shares of the result */
} stage;

typedef struct plan {
  stmpi_job *j;
  stage stage;
  int64_t count;     /* of this rank's parts */
  int64_t *nparts;   /* of each rank; then arrays of as many int */
  int64_t first;     /* the number of this rank's first part */
  int *nnodes;       /* that are left on each rank */
  int *counts, *offsets;   /* elements from, or to, each rank */
  int *counts2, *offsets2;
  int64_t total;
  int64_t at, n;     /* the columns in work */
  row own;           /* this rank's nodes */
  row all;           /* the root, of this rank's share */
  st_tensor *sent, *got;
} plan;

static void plan_release(stmpi_job *j) {
  plan *const p = j->stages;
  j->stages = NULL;
  if (!p) return;
  row_clear(&p->own);
  row_clear(&p->all);
  st_tensor_release(&p->sent);
  st_tensor_release(&p->got);
  free(p->nparts);
  free(p->nnodes);
  free(p);
}

/* The job owns the plan. */
static st_status plan_new(stmpi_job *j, plan **out) {
  const size_t size = (size_t)j->c->size;
  plan *const p = calloc(1, sizeof *p);
  *out = p;
  if (!p) return st_fail(ST_NO_MEMORY, "no memory for a reduction");
  j->stages = p;
  j->release = plan_release;
  p->j = j;
  p->count = st_tensor_sizes(j->in)[0];
  p->nparts = calloc(size, sizeof *p->nparts);
  p->nnodes = calloc(5 * size, sizeof *p->nnodes);
  if (!p->nparts || !p->nnodes) {
    return st_fail(ST_NO_MEMORY, "no memory for the numbers of parts");
  }
  p->counts = p->nnodes + size;
  p->offsets = p->counts + size;
  p->counts2 = p->offsets + size;
  p->offsets2 = p->counts2 + size;
  return ST_OK;
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

/* Once nparts is there. */
static st_status plan_nodes(plan *p) {
  const stmpi_comm *const c = p->j->c;
  for (int r = 0; r < c->size; r++) {
    if (r == c->rank) p->first = p->total;
    p->total += p->nparts[r];
  }
  p->own.reduction = p->all.reduction = p->j->reduction;
  p->own.nparts = p->all.nparts = p->total;
  if (p->total >> MAX_LEVELS) {
    return st_fail(ST_BAD_SHAPE, "there are more than 2^%d parts", MAX_LEVELS);
  }
  if (p->total == 0) return st_fail(ST_BAD_SHAPE, "no rank has any parts");
  for (int r = 0; r < c->size; r++) {
    row of;
    TRY(nodes_of(p, r, &of));
    p->nnodes[r] = of.n;
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

/* Combines this rank's parts. */
static st_status reduce_own(plan *p) {
  stmpi_job *const j = p->j;
  row_clear(&p->own);
  for (int64_t i = 0; i < p->count; i++) {
    node x = {0, p->first + i, NULL, false};
    TRY(vector(j->in, i * j->n + p->at, p->n, &x.t));
    TRY(push(&p->own, x));
  }
  return ST_OK;
}

/* The nodes' elements in the order of the ranks that get them. */
static void pack(const plan *p, char *to) {
  const size_t size = st_dtype_size(p->j->dtype);
  for (int r = 0; r < p->j->c->size; r++) {
    const size_t from = (size_t)share(p, r, p->n) * size;
    const size_t bytes = (size_t)share(p, r + 1, p->n) * size - from;
    for (int i = 0; i < p->own.n && bytes; i++) {
      memcpy(to, (char *)st_tensor_data(p->own.nodes[i].t) + from, bytes);
      to += bytes;
    }
  }
}

/* The tag of the messages of a job, which no other job in progress has. */
static st_status set_tag(stmpi_job *j) {
  int *most, flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
  const int64_t span = flag ? (int64_t)*most + 1 - STMPI_TAGS : 0;
  if (span < STMPI_TAGS) {
    return st_fail(ST_BAD_STATE, "this MPI has too few tags; deterministic "
                   "needs %d with async", 2 * STMPI_TAGS);
  }
  j->tag = STMPI_TAGS + (int)(j->number % span);
  return ST_OK;
}

/* What MPI_Alltoallv does, by requests: counts and offsets of what is sent,
 * counts2 and offsets2 of what arrives. */
static st_status swap(plan *p, const char *from, char *to) {
  stmpi_job *const j = p->j;
  const stmpi_comm *const c = j->c;
  const size_t size = st_dtype_size(j->dtype);
  TRY(stmpi_reserve_requests(j, 2 * c->size));
  for (int i = 1; i < c->size; i++) {
    const int r = (c->rank + i) % c->size;
    if (p->counts2[r] == 0) continue;
    TRY(stmpi_check(
      MPI_Irecv(to + (size_t)p->offsets2[r] * size, p->counts2[r], j->type, r,
                j->tag, c->comm, stmpi_next_request(j)), "MPI_Irecv"));
  }
  for (int i = 1; i < c->size; i++) {
    const int r = (c->rank + c->size - i) % c->size;
    if (p->counts[r] == 0) continue;
    TRY(stmpi_check(
      MPI_Isend(from + (size_t)p->offsets[r] * size, p->counts[r], j->type, r,
                j->tag, c->comm, stmpi_next_request(j)), "MPI_Isend"));
  }
  const int r = c->rank;
  if (p->counts2[r] == 0) return ST_OK;
  memcpy(to + (size_t)p->offsets2[r] * size,
         from + (size_t)p->offsets[r] * size, (size_t)p->counts2[r] * size);
  return ST_OK;
}

/* Every rank gets its share of the nodes. */
static st_status exchange(plan *p) {
  const stmpi_job *const j = p->j;
  const stmpi_comm *const c = j->c;
  const int64_t mine = share(p, c->rank + 1, p->n) - share(p, c->rank, p->n);
  int64_t sent = 0, got = 0;
  for (int r = 0; r < c->size; r++) {
    const int64_t out = share(p, r + 1, p->n) - share(p, r, p->n);
    p->counts[r] = (int)(out * p->nnodes[c->rank]);
    p->counts2[r] = (int)(mine * p->nnodes[r]);
    p->offsets[r] = (int)sent;
    p->offsets2[r] = (int)got;
    sent += p->counts[r];
    got += p->counts2[r];
  }
  void *const from = st_tensor_data(p->sent), *const to =
    st_tensor_data(p->got);
  if (j->is_async) return swap(p, from, to);
  return stmpi_check(
    MPI_Alltoallv(from, p->counts, p->offsets, j->type, to, p->counts2,
                  p->offsets2, j->type, c->comm), "MPI_Alltoallv");
}

/* Combines the nodes of all ranks to the root. */
static st_status reduce_all(plan *p) {
  const int rank = p->j->c->rank;
  const int64_t n = share(p, rank + 1, p->n) - share(p, rank, p->n);
  int64_t at = 0;
  row_clear(&p->all);
  for (int r = 0; r < p->j->c->size; r++) {
    row of;
    TRY(nodes_of(p, r, &of));
    for (int i = 0; i < of.n; i++, at += n) {
      node x = of.nodes[i];
      x.is_ours = true;
      TRY(vector(p->got, at, n, &x.t));
      TRY(push(&p->all, x));
    }
  }
  return ST_OK;
}

/* Sends the shares of the result to all ranks, or to root. */
static st_status collect(plan *p) {
  stmpi_job *const j = p->j;
  const stmpi_comm *const c = j->c;
  const int mine = (int)(share(p, c->rank + 1, p->n) -
                         share(p, c->rank, p->n));
  void *const from = st_tensor_data(p->all.nodes[0].t);
  char *const to = j->out ? (char *)st_tensor_data(j->out) +
                            (size_t)p->at * st_dtype_size(j->dtype) : NULL;
  for (int r = 0; r < c->size; r++) {
    p->offsets[r] = 0;
    p->counts[r] = j->root < 0 || j->root == r ? mine : 0;
    p->offsets2[r] = (int)share(p, r, p->n);
    p->counts2[r] = to ? (int)share(p, r + 1, p->n) - p->offsets2[r] : 0;
  }
  if (j->is_async) return swap(p, from, to);
  if (j->root < 0) {
    return stmpi_check(MPI_Allgatherv(from, mine, j->type, to, p->counts2,
                                      p->offsets2, j->type, c->comm),
                       "MPI_Allgatherv");
  }
  return stmpi_check(MPI_Gatherv(from, mine, j->type, to, p->counts2,
                                 p->offsets2, j->type, j->root, c->comm),
                     "MPI_Gatherv");
}

/* -- Stages --------------------------------------------------------------- */

/* Begins with the columns from p->at on. */
static st_status begin_columns(plan *p) {
  stmpi_job *const j = p->j;
  const int64_t most = stmpi_piece() < COLUMNS ? stmpi_piece() : COLUMNS;
  int64_t nnodes = 0;
  p->n = j->n - p->at < most ? j->n - p->at : most;
  TRY(reduce_own(p));
  for (int r = 0; r < j->c->size; r++) nnodes += p->nnodes[r];
  const int64_t mine = share(p, j->c->rank + 1, p->n) -
                       share(p, j->c->rank, p->n);
  const int64_t sizes[] = {p->own.n * p->n, nnodes * mine};
  TRY(stmpi_new(j->in, 1, &sizes[0], &p->sent));
  TRY(stmpi_new(j->in, 1, &sizes[1], &p->got));
  pack(p, st_tensor_data(p->sent));
  row_clear(&p->own);
  p->stage = NODES;
  return exchange(p);
}

static st_status next_stage(stmpi_job *j, bool *is_over) {
  plan *const p = j->stages;
  switch (p->stage) {
    case NPARTS:
      j->fails_alike = true; /* they all know the numbers of parts */
      TRY(plan_nodes(p));
      j->fails_alike = false;
      break;
    case NODES:
      st_tensor_release(&p->sent);
      TRY(reduce_all(p));
      p->stage = SHARES;
      return collect(p);
    case SHARES:
      row_clear(&p->all);
      st_tensor_release(&p->got);
      p->at += p->n;
  }
  if (p->at < j->n) return begin_columns(p);
  *is_over = true;
  if (j->reduction != STMPI_AVG || !j->out) return ST_OK;
  return stmpi_divide(j->out, p->total);
}

static st_status start_parts(stmpi_job *j) {
  plan *p;
  bool is_over = false;
  TRY(plan_new(j, &p));
  if (j->is_async) TRY(set_tag(j));
  STMPI_START(j, Allgather, allgather, &p->count, 1, MPI_INT64_T, p->nparts, 1,
              MPI_INT64_T, j->c->comm);
  if (j->is_async) j->next = next_stage;
  while (!j->is_async && !is_over) {
    const st_status status = next_stage(j, &is_over);
    stmpi_end_stages(j, status, is_over);
    TRY(status);
  }
  return ST_OK;
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

#define OF_ALL_REDUCE_PARTS                                                 \
  "parts: mpi::_all_reduce_parts_back(grad, shape(parts), op, comm)"
#define OF_REDUCE_PARTS                                                     \
  "parts: mpi::_reduce_parts_back(grad, shape(parts), root, op, comm)"

const stmpi_operator stmpi_parts[] = {
  {"all_reduce_parts(Tensor parts, str op=\"sum\", int comm=0) -> Tensor",
   "The reduction of all ranks' parts, by a tree that does not depend on the "
   "number of ranks.", all_reduce_parts, false, false, OF_ALL_REDUCE_PARTS},
  {"all_reduce_parts_async(Tensor parts, str op=\"sum\", int comm=0) "
   "-> (Tensor, int)", "all_reduce_parts, with a request.", all_reduce_parts,
   true, false, OF_ALL_REDUCE_PARTS},
  {"reduce_parts(Tensor parts, int root=0, str op=\"sum\", int comm=0) "
   "-> Tensor", "all_reduce_parts on root; an empty tensor elsewhere.",
   reduce_parts, false, false, OF_REDUCE_PARTS},
  {"reduce_parts_async(Tensor parts, int root=0, str op=\"sum\", int comm=0) "
   "-> (Tensor, int)", "reduce_parts, with a request.", reduce_parts, true,
   false, OF_REDUCE_PARTS},
  {0},
};
