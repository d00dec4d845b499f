/* Jobs: what a collective has in hand from its start to its end, and the table
 * of those that are still in progress.
 *
 * Note [Stages]
 * An asynchronous deterministic reduction has stages. When the requests of one
 * are done this rank computes, and begins the next one. MPI does not do that by
 * itself, so every call of this module does, and so does every wait in it:
 * while there are stages here, other ranks may need them before they come to
 * what this rank waits for. A handle or a message is waited for by testing. A
 * blocking collective is entered only once all of its ranks have begun it, or
 * when there are no stages left (stmpi_watch_gather). The messages of stages
 * have tags of their own: the ranks may be in different ones, and in between
 * begin other collectives.
 *
 * A rank that fails in a stage, for want of memory or as the ranks' shapes
 * differ, ends all ranks: they wait for its part, and cannot look around. A
 * failure that all ranks have alike, in front of the messages, is an error.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stmpi.h"

/* -- Counts beyond int ---------------------------------------------------- */

/* MPI 3 counts with int. A block that only moves is one element of a derived
 * type; a reduction runs piece by piece. */
st_status stmpi_many(int64_t n, MPI_Datatype type, int *count,
                     MPI_Datatype *out) {
  const int64_t piece = stmpi_piece(), pieces = n / piece, rest = n % piece;
  MPI_Datatype part, parts;
  MPI_Aint low, extent;
  if (n <= piece) {
    *count = (int)n;
    *out = type;
    return ST_OK;
  }
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_contiguous((int)piece, type, &part);
  MPI_Type_contiguous((int)pieces, part, &parts);
  MPI_Type_free(&part);
  MPI_Type_contiguous((int)rest, type, &part);
  const int counts[] = {1, 1};
  const MPI_Aint at[] = {0, (MPI_Aint)(pieces * piece) * extent};
  const MPI_Datatype types[] = {parts, part};
  int code = MPI_Type_create_struct(2, counts, at, types, out);
  MPI_Type_free(&part);
  MPI_Type_free(&parts);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(out);
  *count = 1;
  return stmpi_check(code, "MPI_Type_commit");
}

void stmpi_many_release(MPI_Datatype type, MPI_Datatype *out) {
  if (*out != type) MPI_Type_free(out);
}

/* -- Requests of a job ---------------------------------------------------- */

st_status stmpi_reserve_requests(stmpi_job *j, int room) {
  if (room <= j->room) return ST_OK;
  MPI_Request *p = realloc(j->requests, (size_t)room * sizeof *p);
  if (!p) return st_fail(ST_NO_MEMORY, "no memory for a request");
  if (!j->requests && j->nrequests) p[0] = j->first;
  j->requests = p;
  j->room = room;
  return ST_OK;
}

MPI_Request *stmpi_next_request(stmpi_job *j) {
  if (j->nrequests == 0 && !j->requests) {
    j->nrequests = 1;
    return &j->first;
  }
  if (j->nrequests >= j->room &&
      stmpi_reserve_requests(j, j->room ? 2 * j->room : 8) != ST_OK) {
    return NULL;
  }
  return &j->requests[j->nrequests++];
}

static MPI_Request *requests_of(stmpi_job *j) {
  return j->requests ? j->requests : &j->first;
}

void stmpi_job_clear(stmpi_job *j) {
  st_tensor_release(&j->in);
  st_tensor_release(&j->out);
  st_tensor_release(&j->dest);
  if (j->release) j->release(j);
  free(j->header);
  free(j->requests);
  free(j->why);
  j->header = NULL;
  j->requests = NULL;
  j->why = NULL;
}

/* What is left to do with the elements that have arrived. They are written
 * below autograd: the call has been recorded. */
static st_status finish(stmpi_job *j) {
  if (!j->divides && !j->dest) return ST_OK;
  const st_tls before = st_tls_get();
  st_status status = ST_OK;
  st_tls_set(st_tls_below_autograd());
  if (j->divides && j->out) status = stmpi_divide(j->out, j->c->size);
  if (status == ST_OK && j->dest) status = stmpi_copy(j->dest, j->out);
  st_tls_set(before);
  return status;
}

/* -- Messages ------------------------------------------------------------- */

static long long bytes_of(const stmpi_job *j) {
  return (long long)j->n * (long long)st_dtype_size(j->dtype);
}

/* A message does not say its dtype, so lengths are compared, and named, in
 * bytes. */
static st_status too_long(const stmpi_job *j) {
  char of[320];
  return st_fail(ST_BAD_SHAPE, "%s: self is %s, %lld bytes, but the message is "
                 "longer", j->name,
                 stmpi_describe(j->dest ? j->dest : j->out, 0, of, sizeof of),
                 bytes_of(j));
}

st_status stmpi_received(stmpi_job *j, int code, const MPI_Status *got) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  if (class == MPI_ERR_TRUNCATE) {
    if (j->header) TRY(stmpi_header_compare(j, -1));
    return too_long(j);
  }
  TRY(stmpi_check(code, "MPI_Recv"));
  if (j->header) {
    j->source = got->MPI_SOURCE;
    return stmpi_header_compare(j, j->source);
  }
  const long long own = bytes_of(j);
  char of[320];
  MPI_Count n;
  j->source = got->MPI_SOURCE;
  TRY(stmpi_check(MPI_Get_elements_x(got, MPI_BYTE, &n),
                  "MPI_Get_elements_x"));
  if (n == own) return ST_OK;
  return st_fail(ST_BAD_SHAPE, "%s: self is %s, %lld bytes, but rank %d sent "
                 "%lld bytes", j->name,
                 stmpi_describe(j->dest ? j->dest : j->out, 0, of, sizeof of),
                 own, j->source, (long long)n);
}

/* -- The table ------------------------------------------------------------ */

/* A request's number is its slot, plus a multiple of SLOTS that changes when
 * the slot is used again. */
enum { SLOTS = 1 << 20 };

typedef struct slot {
  stmpi_job job;
  int64_t id;        /* -1: free */
  bool is_abandoned;
} slot;

static slot **slots;
static int nslots, nused, nabandoned;
static int64_t generation;

static st_status take_slot(slot **out) {
  int i = 0;
  *out = NULL;
  if (nused == nslots) {
    const int room = nslots ? 2 * nslots : 16;
    slot **p = room <= SLOTS ? realloc(slots, (size_t)room * sizeof *p) : NULL;
    if (!p) return st_fail(ST_NO_MEMORY, "no memory for a request");
    slots = p;
    for (i = nslots; i < room; i++) slots[i] = NULL;
    i = nslots;
    nslots = room;
  } else {
    while (slots[i] && slots[i]->id >= 0) i++;
  }
  if (!slots[i]) {
    slots[i] = malloc(sizeof *slots[i]);
    if (!slots[i]) return st_fail(ST_NO_MEMORY, "no memory for a request");
  }
  slots[i]->id = generation++ * SLOTS + i;
  slots[i]->is_abandoned = false;
  nused++;
  *out = slots[i];
  return ST_OK;
}

static void free_slot(slot *s) {
  stmpi_job_clear(&s->job);
  if (s->is_abandoned) nabandoned--;
  s->id = -1;
  nused--;
}

static st_status find(int64_t id, slot **out) {
  const int64_t i = id % SLOTS;
  *out = NULL;
  if (stmpi_is_finalized()) {
    return st_fail(ST_BAD_STATE, "MPI is finalized");
  }
  if (id < 0 || i >= nslots || !slots[i] || slots[i]->id != id) {
    return st_fail(ST_BAD_VALUE, "there is no request %lld; it may be over",
                   (long long)id);
  }
  *out = slots[i];
  return ST_OK;
}

/* -- Stages --------------------------------------------------------------- */

static int nstaged; /* jobs with stages to come */

bool stmpi_has_stages(void) { return nstaged > 0; }

void stmpi_end_stages(const stmpi_job *j, st_status status, bool is_over) {
  char text[1024];
  if (status == ST_OK || is_over || j->fails_alike || j->c->size == 1) return;
  snprintf(text, sizeof text, "%s: %s", j->name, st_message());
  stmpi_abort(text, 1);
}

/* Begins the stages of a job whose turn it is. A failure is for stmpi_wait. */
static void advance(stmpi_job *j) {
  const st_tls before = st_tls_get();
  st_tls_set(st_tls_below_autograd());
  while (j->next) {
    bool is_over = false;
    int flag = 1;
    st_status status = ST_OK;
    for (int i = 0; i < j->nrequests && flag && status == ST_OK; i++) {
      status = stmpi_check(MPI_Test(&requests_of(j)[i], &flag,
                                    MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (status == ST_OK && !flag) break;
    j->nrequests = 0;
    if (status == ST_OK) status = j->next(j, &is_over);
    if (status == ST_OK && !is_over) continue;
    stmpi_end_stages(j, status, is_over);
    if (status != ST_OK) j->why = strdup(st_message());
    j->failure = status;
    j->next = NULL;
    nstaged--;
  }
  st_tls_set(before);
}

void stmpi_progress(void) {
  for (int i = 0; nstaged > 0 && i < nslots; i++) {
    if (slots[i] && slots[i]->id >= 0) advance(&slots[i]->job);
  }
}

/* -- Waiting -------------------------------------------------------------- */

/* Can the wait for a job end without its message? */
static bool may_give_up(const stmpi_job *j) {
  return j->receives && (j->header || j->c->size == 1 ||
                         j->root == j->c->rank);
}

/* Notes the wait, unless this rank itself sees when it is in vain. */
static void note_wait(const stmpi_job *j) {
  if (may_give_up(j)) stmpi_watch_leave();
  else stmpi_watch_enter(j);
}

/* Gives up a message that nobody sends. False if it arrives after all: *code is
 * the error then. */
static bool is_cancelled(MPI_Request *request, int *code, MPI_Status *got) {
  int flag = 0;
  MPI_Cancel(request);
  *code = MPI_Wait(request, got);
  MPI_Test_cancelled(got, &flag);
  return flag;
}

/* Waits for a request by testing. MPI_Wait tells the error, also of one that
 * MPI_Request_get_status fails for. */
static int await_looking(stmpi_job *j, MPI_Request *request, MPI_Status *got,
                         bool *is_given_up) {
  int code = MPI_SUCCESS, flag = 0;
  for (int k = 1; code == MPI_SUCCESS && !flag; k++) {
    code = MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    stmpi_progress();
    if (flag || k % 64 || !may_give_up(j) || !stmpi_is_in_vain(j, true)) {
      continue;
    }
    *is_given_up = is_cancelled(request, &code, got);
    return code;
  }
  return MPI_Wait(request, got);
}

/* Waits for the requests of a job; *got is the status of the last one. */
static st_status await(stmpi_job *j, MPI_Status *got) {
  const bool looks = nstaged > 0 || may_give_up(j);
  bool is_given_up = false;
  int code = MPI_SUCCESS;
  while (j->next) stmpi_progress();
  for (int i = 0; i < j->nrequests && code == MPI_SUCCESS; i++) {
    MPI_Request *const request = &requests_of(j)[i];
    code = looks ? await_looking(j, request, got, &is_given_up)
                 : MPI_Wait(request, got);
  }
  if (is_given_up) return stmpi_fail_in_vain(j);
  return j->receives ? stmpi_received(j, code, got)
                     : stmpi_check(code, "MPI_Wait");
}

/* Completes the job of a slot whose requests are done, and frees the slot. */
static st_status end(slot *s, st_status status) {
  if (status == ST_OK && s->job.failure != ST_OK) {
    status = st_fail(s->job.failure, "%s: %s", s->job.name,
                     s->job.why ? s->job.why : "no memory");
  }
  if (status == ST_OK) status = finish(&s->job);
  free_slot(s);
  return status;
}

st_status stmpi_wait(int64_t id, int *source) {
  slot *s;
  MPI_Status last;
  TRY(find(id, &s));
  note_wait(&s->job);
  const st_status status = await(&s->job, &last);
  stmpi_watch_leave();
  if (source) *source = s->job.source;
  return end(s, status);
}

static bool is_done(slot *s) {
  int flag;
  if (s->job.next) return false;
  for (int i = 0; i < s->job.nrequests; i++) {
    /* Unlike MPI_Test, this keeps the request, for stmpi_wait, which fails if
     * this does. */
    const int code = MPI_Request_get_status(requests_of(&s->job)[i], &flag,
                                            MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !flag) return false;
  }
  return true;
}

st_status stmpi_test(int64_t id, bool *done) {
  slot *s;
  TRY(find(id, &s));
  stmpi_progress();
  *done = is_done(s);
  stmpi_job *const j = &s->job;
  const bool sees = j->header && j->receives && j->root >= 0;
  if (sees && !*done) *done = stmpi_is_in_vain(j, false); /* the wait fails */
  if (*done || sees) stmpi_watch_leave();
  else stmpi_watch_poll(j, id);
  return ST_OK;
}

int64_t stmpi_next_request_id(int *i, const stmpi_job **job) {
  while (*i < nslots) {
    const slot *const s = slots[(*i)++];
    if (!s || s->id < 0) continue;
    *job = &s->job;
    return s->id;
  }
  return -1;
}

void stmpi_abandon(int64_t id) {
  slot *s;
  if (find(id, &s) != ST_OK || s->is_abandoned) return;
  s->is_abandoned = true;
  nabandoned++;
  stmpi_reap(false);
}

void stmpi_reap(bool all) {
  stmpi_progress();
  if (nabandoned == 0 && !all) return;
  for (int i = 0; i < nslots; i++) {
    slot *const s = slots[i];
    if (!s || s->id < 0 || !(all || s->is_abandoned)) continue;
    if (!all && !is_done(s)) continue;
    stmpi_wait(s->id, NULL);
  }
}

st_status stmpi_check_unused(const stmpi_comm *c) {
  for (int i = 0; i < nslots; i++) {
    slot *const s = slots[i];
    if (!s || s->id < 0 || s->job.c != c) continue;
    if (s->is_abandoned && (!s->job.is_message || is_done(s))) {
      TRY(stmpi_wait(s->id, NULL));
      continue;
    }
    return st_fail(ST_BAD_STATE, "%s is in progress on the communicator: wait "
                   "for it before comm:free", s->job.name);
  }
  return ST_OK;
}

/* -- Running -------------------------------------------------------------- */

static st_status run_async(stmpi_job *j, stmpi_start_fn start, int64_t *id) {
  slot *s;
  st_status status = take_slot(&s);
  if (status != ST_OK) {
    stmpi_job_clear(j);
    return status;
  }
  s->job = *j;
  j->in = j->out = j->dest = NULL;
  j->header = NULL;
  status = start(&s->job);
  if (status != ST_OK) {
    free_slot(s);
    return status;
  }
  if (s->job.next) nstaged++;
  *id = s->id;
  return ST_OK;
}

static st_status run_blocking(stmpi_job *j, stmpi_start_fn start) {
  MPI_Status got;
  if (!j->is_message) {
    stmpi_watch_gather(j->c);
    return start(j);
  }
  if (nstaged == 0 && !may_give_up(j)) return start(j);
  j->is_async = true;
  TRY(start(j));
  return await(j, &got);
}

void stmpi_count_call(stmpi_comm *c) {
  c->ncalls++;
  stmpi_watch_begun(c);
}

st_status stmpi_run(stmpi_job *j, stmpi_start_fn start, int64_t *id) {
  stmpi_reap(false);
  if (!j->is_message) {
    stmpi_count_call(j->c);
    j->number = j->c->ncalls;
  }
  *id = -1;
  if (j->is_async) return run_async(j, start, id);
  note_wait(j);
  st_status status = run_blocking(j, start);
  stmpi_watch_leave();
  if (status == ST_OK) status = finish(j);
  stmpi_job_clear(j);
  return status;
}

/* -- Kernels -------------------------------------------------------------- */

st_status stmpi_job_begin(const st_call *call, st_tensor *self,
                          const st_value *comm, stmpi_job *j) {
  const stmpi_operator *const row = call->ctx;
  *j = (stmpi_job){.row = row, .name = st_op_name(call->op), .detail = "",
                   .root = -1, .is_async = row->is_async, .source = -1};
  if (row->has_out) j->given = comm[1].u.tensor;
  TRY(stmpi_comm_get(comm->u.i, &j->c));
  if (!self) return ST_OK;
  j->dtype = st_tensor_dtype(self);
  j->type = stmpi_type(j->dtype);
  j->is_meta = stmpi_is_meta(self);
  return ST_OK;
}

static st_status compare(const stmpi_job *j, const st_tensor *self) {
  char text[512], of[320] = "", root[32] = "";
  if (self) stmpi_describe(self, j->skip, of, sizeof of);
  if (j->root >= 0) snprintf(root, sizeof root, ", root %d", j->root);
  snprintf(text, sizeof text, "%s%s%s%s%s%s", j->name, *j->detail ? " " : "",
           j->detail, self ? " of " : "", of, root);
  return stmpi_compare(j->c, text);
}

st_status stmpi_job_end(stmpi_job *j, const st_tensor *self,
                        stmpi_start_fn start, st_tensor *result,
                        st_value *rets) {
  const bool is_async = j->is_async;
  int64_t id = -1;
  st_status status = ST_OK;
  int n = 0;
  if (stmpi_is_checked() && !j->is_meta && !j->is_message) {
    status = compare(j, self);
  }
  if (status == ST_OK && !j->is_meta) status = stmpi_run(j, start, &id);
  else stmpi_job_clear(j);
  if (status != ST_OK) {
    st_tensor_release(&result);
    return status;
  }
  if (result) rets[n++] = (st_value){.tag = ST_TAG_TENSOR, .u.tensor = result};
  if (is_async) rets[n++] = (st_value){.tag = ST_TAG_INT, .u.i = id};
  else if (j->receives) rets[n++] = (st_value){.tag = ST_TAG_INT,
                                               .u.i = j->source};
  return ST_OK;
}
