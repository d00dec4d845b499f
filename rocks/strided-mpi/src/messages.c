/* send and recv: between two ranks. In checked mode: Note [Headers of
 * messages].
 */

#include "stmpi.h"

enum { ANY = -1 }; /* source: any rank */

static st_status set_tag(stmpi_job *j, const st_value *tag) {
  if (tag->u.i < 0 || tag->u.i >= STMPI_TAGS) {
    return st_fail(ST_BAD_VALUE, "tag is %lld; it must be 0 to %d",
                   (long long)tag->u.i, STMPI_TAGS - 1);
  }
  j->tag = (int)tag->u.i;
  return ST_OK;
}

/* What MPI sends or receives: `n` elements of `type` at `data`. */
typedef struct block {
  void *data;
  int n;
  MPI_Datatype type, of; /* of: of an element; the same as type, or not */
} block;

static st_status block_of(stmpi_job *j, st_tensor *t, block *out) {
  *out = (block){.data = st_tensor_data(t), .of = j->type};
  TRY(stmpi_many(j->n, j->type, &out->n, &out->type));
  if (!j->header) return ST_OK;
  const MPI_Datatype elements = out->type;
  const st_status status = stmpi_header_type(j, out->data, out->n, elements,
                                             &out->type);
  *out = (block){MPI_BOTTOM, 1, out->type, out->of};
  if (elements != j->type) {
    MPI_Datatype unused = elements;
    stmpi_many_release(j->type, &unused);
  }
  return status;
}

static st_status start_send(stmpi_job *j) {
  block b;
  TRY(block_of(j, j->in, &b));
  STMPI_START(j, Send, send, b.data, b.n, b.type, j->root, j->tag, j->c->comm);
  stmpi_many_release(b.of, &b.type);
  return ST_OK;
}

static st_status start_recv(stmpi_job *j) {
  const int from = j->root == ANY ? MPI_ANY_SOURCE : j->root;
  block b;
  MPI_Status got;
  int code;
  TRY(block_of(j, j->out, &b));
  if (j->is_async) {
    code = MPI_Irecv(b.data, b.n, b.type, from, j->tag, j->c->comm,
                     stmpi_next_request(j));
  } else {
    code = MPI_Recv(b.data, b.n, b.type, from, j->tag, j->c->comm, &got);
  }
  stmpi_many_release(b.of, &b.type);
  return j->is_async ? stmpi_check(code, "MPI_Irecv")
                     : stmpi_received(j, code, &got);
}

static st_status send(const st_call *call, const st_value *args,
                      st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[3], &j));
  TRY(stmpi_check_rank(j.c, "dest", args[1].u.i));
  TRY(set_tag(&j, &args[2]));
  j.root = (int)args[1].u.i;
  j.is_message = true;
  j.n = st_tensor_numel(self);
  TRY(stmpi_contiguous(self, &j.in));
  TRY(stmpi_prepared(&j, stmpi_header_new(&j, self)));
  return stmpi_job_end(&j, self, start_send, NULL, rets);
}

static st_status recv_(const st_call *call, const st_value *args,
                       st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[3], &j));
  if (args[1].u.i != ANY) {
    TRY(stmpi_check_rank(j.c, "source", args[1].u.i));
  }
  TRY(set_tag(&j, &args[2]));
  j.root = (int)args[1].u.i;
  j.is_message = j.receives = true;
  j.n = st_tensor_numel(self);
  TRY(stmpi_prepared(&j, stmpi_set_written(&j, self, false)));
  TRY(stmpi_prepared(&j, stmpi_header_new(&j, self)));
  return stmpi_job_end(&j, self, start_recv, stmpi_retained(self), rets);
}

const stmpi_operator stmpi_messages[] = {
  {"send(Tensor self, int dest, int tag=0, int comm=0) -> ()",
   "Sends a tensor to a rank.", send, false, false, NULL},
  {"send_async(Tensor self, int dest, int tag=0, int comm=0) -> int",
   "send, with a request.", send, true, false, NULL},
  {"recv_(Tensor(a!) self, int source=-1, int tag=0, int comm=0) "
   "-> (Tensor(a!), int)", "Receives a tensor; -1: from any rank.", recv_,
   false, false, NULL},
  {"recv_async_(Tensor(a!) self, int source=-1, int tag=0, int comm=0) "
   "-> (Tensor(a!), int)", "recv_, with a request.", recv_, true, false, NULL},
  {0},
};
