/* Declarations shared by the files of this module. Names that cross files start
 * with stmpi_.
 */
#ifndef STMPI_H
#define STMPI_H

/* The C++ and the deprecated parts of Open MPI's header are not wanted. */
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <strided.h>

#define TRY(e) do {                              \
    const st_status try_ = (e);                  \
    if (try_ != ST_OK) return try_;              \
  } while (0)

/* -- Reductions (reduction.c) --------------------------------------------- */

/* ORDER REDUCTION: names in reduction.c */
typedef enum stmpi_reduction {
  STMPI_SUM, STMPI_PROD, STMPI_MIN, STMPI_MAX, STMPI_AVG, STMPI_BAND,
  STMPI_BOR, STMPI_BXOR, STMPI_REDUCTIONS
} stmpi_reduction;

/* BAD_VALUE for the name of no reduction. */
st_status stmpi_reduction_parse(const st_value *name, stmpi_reduction *out);
const char *stmpi_reduction_name(stmpi_reduction r);
/* The MPI type of elements. */
MPI_Datatype stmpi_type(st_dtype d);
/* The MPI operation, which for avg is the sum. BAD_DTYPE if r makes no sense
 * for d. */
st_status stmpi_operation(stmpi_reduction r, st_dtype d, MPI_Op *out);
/* Creates and frees the operations that MPI does not have. */
st_status stmpi_operations_create(void);
void stmpi_operations_free(void);

/* half.c: a[i] = a[i] op b[i], rounded to nearest even. */
void stmpi_half(stmpi_reduction r, bool is_bfloat, const uint16_t *b,
                uint16_t *a, int64_t n);

/* -- The process (world.c) ------------------------------------------------ */

typedef struct stmpi_comm {
  MPI_Comm comm;     /* MPI_COMM_NULL: freed */
  int rank, size;
  const int *ranks;  /* in the world, of each rank of comm */
  int64_t ncalls;    /* collectives begun on it */
  int64_t id;        /* by which operators know it */
  int64_t number;    /* the same on all of its ranks (watch.c) */
} stmpi_comm;

/* Starts MPI. A later call does nothing but turn the checks on. BAD_STATE after
 * stmpi_finalize; IO if MPI fails. */
st_status stmpi_init(bool checked);
/* Completes the requests and ends MPI. */
st_status stmpi_finalize(void);
bool stmpi_is_initialized(void);
bool stmpi_is_finalized(void);
bool stmpi_is_checked(void);
/* The number of ranks on this machine. */
int stmpi_local_size(void);
/* The status of a return code of MPI, with a message that names `call`. */
st_status stmpi_check(int code, const char *call);
/* Communicator number id; 0 is the world. BAD_STATE before init and after
 * finalize and for one that was freed, BAD_VALUE for one that never was. */
st_status stmpi_comm_get(int64_t id, stmpi_comm **out);
/* The communicator with this number that has a rank of the world; NULL if there
 * is none. */
const stmpi_comm *stmpi_comm_with(int64_t number, int rank);
/* The table: *out is its first entry, of as many as are returned. */
int stmpi_comms(const stmpi_comm **out);
/* color < 0: *out becomes -1. */
st_status stmpi_comm_split(int64_t id, int color, int key, int64_t *out);
st_status stmpi_comm_dup(int64_t id, int64_t *out);
st_status stmpi_comm_free(int64_t id);
/* Fails unless 0 <= rank < size; name is that of the argument. */
st_status stmpi_check_rank(const stmpi_comm *c, const char *name,
                           int64_t rank);
/* Prints a text with the rank to stderr and ends all ranks. */
void stmpi_abort(const char *text, int code);
/* The most elements that one call of MPI gets: INT_MAX at most. A smaller
 * number is for specs. */
int64_t stmpi_piece(void);
void stmpi_set_piece(int64_t n);

/* Messages have the tags below this one; those above are of stages. */
enum { STMPI_TAGS = 32768 };

/* -- Jobs (job.c) --------------------------------------------------------- */

typedef struct stmpi_operator stmpi_operator;
typedef struct stmpi_job stmpi_job;
typedef struct stmpi_header stmpi_header; /* headers.c */
typedef st_status (*stmpi_start_fn)(stmpi_job *j);

/* An operation in progress. Its buffers are contiguous. If `in` is NULL, the
 * input is in `out` (MPI_IN_PLACE). Owns its tensors. */
struct stmpi_job {
  const stmpi_operator *row; /* NULL: a call of a communicator */
  const char *name;      /* of the operator */
  const char *detail;    /* for messages: the name of the reduction, or "" */
  int skip;              /* sizes at the front that may differ between ranks */
  bool is_meta;
  stmpi_comm *c;
  st_tensor *in, *out;   /* may be NULL */
  st_tensor *dest;       /* out is copied there at the end; NULL: not */
  st_tensor *given;      /* borrowed: the argument `out`, or NULL */
  int64_t n;             /* elements of a block */
  int64_t number;        /* of the collective on c */
  int root, tag;         /* or the peer */
  st_dtype dtype;
  stmpi_reduction reduction;
  MPI_Datatype type;     /* of an element */
  MPI_Op op;
  bool is_async;
  bool divides;          /* out by the number of ranks, at the end */
  bool is_message;       /* between two ranks */
  bool receives;         /* a message, which must have n elements */
  stmpi_header *header;  /* of a message in checked mode, or NULL */
  double vain_since;     /* stmpi_is_in_vain */
  /* Note [Stages] in job.c. next begins the next one, unless the job is over;
   * NULL: there is none. */
  st_status (*next)(stmpi_job *j, bool *is_over);
  void *stages;          /* for next; owned */
  void (*release)(stmpi_job *j); /* frees them; NULL: there are none */
  bool fails_alike;      /* on all ranks, if the stage does now */
  st_status failure;     /* of a stage, and its message */
  char *why;
  int nrequests, room;
  MPI_Request first, *requests; /* requests: NULL as long as one suffices */
  int source;            /* of the message */
};

/* Runs `start`, and then finishes the job or, if it is asynchronous, puts it
 * into the table of requests. *id is the request, -1 if there is none. Releases
 * the job's tensors, on failure too. */
st_status stmpi_run(stmpi_job *j, stmpi_start_fn start, int64_t *id);
void stmpi_job_clear(stmpi_job *j);
/* Begins a job with the arguments that all operators have. self may be NULL. */
st_status stmpi_job_begin(const st_call *call, st_tensor *self,
                          const st_value *comm, stmpi_job *j);
/* Ends a kernel: compares the call in checked mode, runs the job unless self is
 * a meta tensor, and stores the results. Takes `result`, which may be NULL. */
st_status stmpi_job_end(stmpi_job *j, const st_tensor *self,
                        stmpi_start_fn start, st_tensor *result,
                        st_value *rets);
/* Sets the source of a message, which must have the expected length; `code` is
 * that of the call that has received it. */
st_status stmpi_received(stmpi_job *j, int code, const MPI_Status *got);
/* The place of the next request of an asynchronous job; NULL, with a message,
 * if there is no memory. */
MPI_Request *stmpi_next_request(stmpi_job *j);
/* Afterwards so many requests find a place. */
st_status stmpi_reserve_requests(stmpi_job *j, int room);
/* A type of n elements of `type`, for n beyond stmpi_piece: *count of *out is
 * what to pass. Free *out with stmpi_type_release. */
st_status stmpi_many(int64_t n, MPI_Datatype type, int *count,
                     MPI_Datatype *out);
void stmpi_many_release(MPI_Datatype type, MPI_Datatype *out);
/* Counts a collective on c, which begins. */
void stmpi_count_call(stmpi_comm *c);
/* Are there jobs with stages to come? Begins those whose turn it is. */
bool stmpi_has_stages(void);
void stmpi_progress(void);
/* Ends all ranks if this one has failed in a stage of j, and the others need it
 * to complete theirs. */
void stmpi_end_stages(const stmpi_job *j, st_status status, bool is_over);
/* Requests. Both fail with BAD_VALUE for a request that is over. source may be
 * NULL. */
st_status stmpi_wait(int64_t id, int *source);
st_status stmpi_test(int64_t id, bool *done);
/* Nobody will wait for the request; it is completed later. */
void stmpi_abandon(int64_t id);
/* Completes the abandoned collectives of c, which is about to be freed; fails
 * if other requests of c are in progress. */
st_status stmpi_check_unused(const stmpi_comm *c);
/* The id of the first request from place *i on, which becomes the place behind
 * it; -1 if there is none. */
int64_t stmpi_next_request_id(int *i, const stmpi_job **job);
/* Tests the abandoned requests; `all` waits for them and for all others. */
void stmpi_reap(bool all);

/* -- Operators ------------------------------------------------------------ */

struct stmpi_operator {
  const char *schema, *doc;
  st_kernel_fn fn;       /* its ctx is the row */
  bool is_async;
  bool has_out;          /* its last argument, behind comm, is `out` */
  const char *derivative; /* a formula for its tensor, or NULL */
};

/* Arrays that end with a NULL schema. */
extern const stmpi_operator stmpi_collectives[]; /* collectives.c */
extern const stmpi_operator stmpi_messages[];    /* messages.c */
extern const stmpi_operator stmpi_parts[];       /* parts.c */
extern const stmpi_operator stmpi_gradients[];   /* gradients.c */
extern const stmpi_operator stmpi_composites[];  /* gradients.c */

/* collectives.c: for kernels of other files. */
st_status stmpi_set_reduction(stmpi_job *j, const st_value *op);
st_status stmpi_set_root(stmpi_job *j, const st_value *root);
/* Releases what is prepared, if the preparation failed. */
st_status stmpi_prepared(stmpi_job *j, st_status status);
st_tensor *stmpi_retained(st_tensor *t); /* may be NULL */
/* out and dest of an operator that writes self; `reads`: it needs the elements
 * of self. OVERLAP. */
st_status stmpi_set_written(stmpi_job *j, st_tensor *self, bool reads);
/* A tensor of self's sizes behind a first dimension of `rows`. */
st_status stmpi_new_rows(const st_tensor *self, int64_t rows,
                         st_tensor **out);
/* Sets n to the elements of a row of self, which has one for each rank. */
st_status stmpi_set_rows(stmpi_job *j, const st_tensor *self);
st_status stmpi_start_reduce(stmpi_job *j);
st_status stmpi_start_broadcast(stmpi_job *j);
st_status stmpi_start_gather(stmpi_job *j);
st_status stmpi_start_scatter(stmpi_job *j);
/* Calls MPI_Name, or MPI_Iname with a request, and fails with its error. */
#define STMPI_START(j, Name, name, ...) do {                                \
    if ((j)->is_async) {                                                    \
      MPI_Request *const request_ = stmpi_next_request(j);                  \
      if (!request_) return ST_NO_MEMORY;                                   \
      *request_ = MPI_REQUEST_NULL;                                         \
      TRY(stmpi_check(MPI_I##name(__VA_ARGS__, request_), "MPI_I" #name));  \
    } else {                                                                \
      TRY(stmpi_check(MPI_##Name(__VA_ARGS__), "MPI_" #Name));              \
    }                                                                       \
  } while (0)
/* operators.c: these arrays. */
enum { STMPI_LISTS = 5 };
extern const stmpi_operator *const stmpi_lists[STMPI_LISTS];
/* The namespace `mpi`. */
st_status stmpi_register(void);

/* -- Tensors (tensors.c) -------------------------------------------------- */

/* A contiguous tensor of t's elements: t itself, retained, or a copy. */
st_status stmpi_contiguous(st_tensor *t, st_tensor **out);
/* A new contiguous tensor on t's device. */
st_status stmpi_new(const st_tensor *t, int ndim, const int64_t *sizes,
                    st_tensor **out);
/* BAD_LAYOUT etc. unless t, which is written, has one place per element. */
st_status stmpi_check_written(const st_tensor *t);
st_status stmpi_copy(st_tensor *to, st_tensor *from);
st_status stmpi_divide(st_tensor *t, int64_t by);
st_status stmpi_zero(st_tensor *t);
/* to = a + b, or another reduction; avg adds. to may be a or b. */
st_status stmpi_combine(stmpi_reduction r, st_tensor *a, st_tensor *b,
                        st_tensor *to);
bool stmpi_is_meta(const st_tensor *t);
/* "float32 [2, 3]"; skip: leaves that many sizes out at the front. */
char *stmpi_describe(const st_tensor *t, int skip, char *buf, size_t size);
/* Finds the operators that the functions above call. */
st_status stmpi_tensors_init(void);

/* -- Checks (checked.c) --------------------------------------------------- */

/* Checked mode: compares the text of a collective between the ranks of c.
 * BAD_STATE on every rank if they differ, and if a rank has finalized. */
st_status stmpi_compare(stmpi_comm *c, const char *text);
/* headers.c. Gives a message a header, which says what self is, in checked
 * mode. */
st_status stmpi_header_new(stmpi_job *j, const st_tensor *self);
/* The type of one element that is the header and `n` elements of `type` at
 * `data`; its address is MPI_BOTTOM. */
st_status stmpi_header_type(stmpi_job *j, void *data, int n, MPI_Datatype type,
                            MPI_Datatype *out);
/* Compares the header of a message that has arrived with the tensor that it was
 * received into. BAD_STATE if they differ. A message that is too long has the
 * source -1; it may have come without a header. */
st_status stmpi_header_compare(stmpi_job *j, int source);
/* True if all ranks that could send the message have finished, or are this one
 * and `blocks`, for stmpi_patience(). */
bool stmpi_is_in_vain(stmpi_job *j, bool blocks);
/* Fails with a message that says so. */
st_status stmpi_fail_in_vain(const stmpi_job *j);
/* Tells the other ranks that this one has finished. */
void stmpi_say_goodbye(void);
/* Receives these messages. */
void stmpi_hear_goodbyes(void);
st_status stmpi_checks_create(void);

/* -- Ranks that have finished (watch.c) ----------------------------------- */

st_status stmpi_watch_create(void);
/* Around a wait: notes what this rank waits for. */
void stmpi_watch_enter(const stmpi_job *j);
void stmpi_watch_leave(void);
/* Notes the number of collectives that have begun on c. */
void stmpi_watch_begun(const stmpi_comm *c);
/* While there are stages: waits until all ranks of c have begun as many
 * collectives on it as this one, or until there are none. */
void stmpi_watch_gather(const stmpi_comm *c);
/* A request was tested and is not done: notes that, until the next wait. */
void stmpi_watch_poll(const stmpi_job *j, int64_t id);
/* Seconds that a message may take at the end: STRIDED_MPI_PATIENCE in the
 * environment, or 5. */
double stmpi_patience(void);
/* Waits until all ranks have finished. Ends all of them, with a message, if one
 * waits in vain for this one. Then completes the requests. */
void stmpi_watch_end(void);
/* unfinished.c: once all ranks have finished, completes the requests, or ends
 * all ranks with a message that names one. */
void stmpi_finish_requests(MPI_Comm all);

#endif
