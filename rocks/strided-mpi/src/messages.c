/* send and recv: between two ranks.
 */

#include "stmpi.h"

enum { ANY = -1 }; /* source: any rank */

static st_status set_tag(stmpi_job *j, const st_value *tag) {
  if (tag->u.i < 0 || tag->u.i > 32767) {
    return st_fail(ST_BAD_VALUE, "tag is %lld; it must be 0 to 32767",
                   (long long)tag->u.i);
  }
  j->tag = (int)tag->u.i;
  return ST_OK;
}

static st_status start_send(stmpi_job *j) {
  MPI_Datatype type;
  int n;
  TRY(stmpi_many(j->n, j->type, &n, &type));
  STMPI_START(j, Send, send, st_tensor_data(j->in), n, type, j->root, j->tag,
              j->c->comm);
  stmpi_many_release(j->type, &type);
  return ST_OK;
}

static st_status start_recv(stmpi_job *j) {
  const int from = j->root == ANY ? MPI_ANY_SOURCE : j->root;
  MPI_Datatype type;
  MPI_Status got;
  int n;
  TRY(stmpi_many(j->n, j->type, &n, &type));
  void *const to = st_tensor_data(j->out);
  int code;
  if (j->is_async) {
    code = MPI_Irecv(to, n, type, from, j->tag, j->c->comm,
                     stmpi_next_request(j));
  } else {
    code = MPI_Recv(to, n, type, from, j->tag, j->c->comm, &got);
  }
  stmpi_many_release(j->type, &type);
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
