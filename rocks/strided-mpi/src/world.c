/* The process: starts and ends MPI, and keeps the table of communicators.
 *
 * Operators name a communicator by its number in the table, because a schema
 * has no type for it. Number 0 is a duplicate of MPI_COMM_WORLD, so that other
 * users of MPI in the process do not meet our messages. MPI must be called by
 * one thread at a time.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stmpi.h"

enum { COMMS = 1024 };

static stmpi_comm comms[COMMS];
static int ncomms;
static bool is_initialized, is_finalized, is_checked, is_ours;
static int local_size = 1;
static pid_t process;          /* that called init; not a child of it */
static int64_t piece = 1 << 30;

bool stmpi_is_initialized(void) { return is_initialized; }
bool stmpi_is_finalized(void) { return is_finalized; }
bool stmpi_is_checked(void) { return is_checked; }
int stmpi_local_size(void) { return local_size; }
int64_t stmpi_piece(void) { return piece; }
void stmpi_set_piece(int64_t n) {
  piece = n >= 1 && n <= INT_MAX ? n : 1 << 30;
}

st_status stmpi_check(int code, const char *call) {
  char text[MPI_MAX_ERROR_STRING];
  int n;
  if (code == MPI_SUCCESS) return ST_OK;
  if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) {
    snprintf(text, sizeof text, "error %d", code);
  }
  return st_fail(ST_IO, "%s: %s", call, text);
}

/* -- Communicators -------------------------------------------------------- */

/* The ranks of comm in the world; the caller frees them. */
static st_status world_ranks(MPI_Comm comm, int size, int **out) {
  MPI_Group group, world;
  int *from = malloc((size_t)size * sizeof *from);
  int *to = malloc((size_t)size * sizeof *to);
  *out = to;
  if (!from || !to) {
    free(from);
    free(to);
    return st_fail(ST_NO_MEMORY, "no memory for a communicator");
  }
  for (int i = 0; i < size; i++) from[i] = i;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int code = MPI_Group_translate_ranks(group, size, from, world, to);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  free(from);
  return stmpi_check(code, "MPI_Group_translate_ranks");
}

/* A number that the ranks of comm agree on, higher than those they have. */
static st_status agree(MPI_Comm comm, int64_t *number) {
  static int64_t greatest;
  int64_t next = greatest + 1;
  TRY(stmpi_check(MPI_Allreduce(MPI_IN_PLACE, &next, 1, MPI_INT64_T, MPI_MAX,
                                comm), "MPI_Allreduce"));
  *number = greatest = next;
  return ST_OK;
}

/* An id is its slot plus a multiple of COMMS that changes when the slot is used
 * again: an id that was freed never names another communicator.
 *
 * Adds comm, which the table owns from now on. */
static st_status add(MPI_Comm comm, int64_t *out) {
  stmpi_comm c = {.comm = comm};
  int *ranks;
  int slot = 0;
  while (slot < ncomms && comms[slot].comm != MPI_COMM_NULL) slot++;
  if (slot == COMMS) {
    return st_fail(ST_BAD_STATE, "there are %d communicators; free some",
                   COMMS);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  TRY(agree(comm, &c.number));
  TRY(world_ranks(comm, c.size, &ranks));
  c.ranks = ranks;
  c.id = slot < ncomms ? comms[slot].id + COMMS : slot;
  comms[slot] = c;
  if (slot == ncomms) ncomms++;
  *out = c.id;
  return ST_OK;
}

st_status stmpi_comm_get(int64_t id, stmpi_comm **out) {
  *out = NULL;
  if (!is_initialized || is_finalized) {
    return st_fail(ST_BAD_STATE, is_finalized
                   ? "MPI is finalized" : "MPI is not initialized: call "
                   "mpi.init() first");
  }
  stmpi_comm *const c = &comms[id < 0 ? 0 : id % COMMS];
  if (id < 0 || id % COMMS >= ncomms || id > c->id) {
    return st_fail(ST_BAD_VALUE, "there is no communicator %lld",
                   (long long)id);
  }
  if (id < c->id || c->comm == MPI_COMM_NULL) {
    return st_fail(ST_BAD_STATE, "the communicator was freed");
  }
  *out = c;
  return ST_OK;
}

const stmpi_comm *stmpi_comm_with(int64_t number, int rank) {
  for (int id = 0; id < ncomms; id++) {
    const stmpi_comm *const c = &comms[id];
    if (c->comm == MPI_COMM_NULL || c->number != number) continue;
    for (int i = 0; i < c->size; i++) {
      if (c->ranks[i] == rank) return c;
    }
  }
  return NULL;
}

int stmpi_comms(const stmpi_comm **out) {
  *out = comms;
  return ncomms;
}

/* A collective on a communicator itself. */
static st_status enter(int64_t id, const char *name, stmpi_comm **out) {
  TRY(stmpi_comm_get(id, out));
  if (is_checked) TRY(stmpi_compare(*out, name));
  stmpi_count_call(*out);
  const stmpi_job j = {.name = name, .c = *out, .number = (*out)->ncalls};
  stmpi_watch_enter(&j);
  stmpi_watch_gather(*out);
  return ST_OK;
}

static st_status leave(int code, const char *call) {
  stmpi_watch_leave();
  return stmpi_check(code, call);
}

st_status stmpi_comm_split(int64_t id, int color, int key, int64_t *out) {
  stmpi_comm *c;
  MPI_Comm comm;
  TRY(enter(id, "comm:split", &c));
  TRY(leave(MPI_Comm_split(c->comm, color < 0 ? MPI_UNDEFINED : color, key,
                           &comm), "MPI_Comm_split"));
  *out = -1;
  return comm == MPI_COMM_NULL ? ST_OK : add(comm, out);
}

st_status stmpi_comm_dup(int64_t id, int64_t *out) {
  stmpi_comm *c;
  MPI_Comm comm;
  TRY(enter(id, "comm:dup", &c));
  TRY(leave(MPI_Comm_dup(c->comm, &comm), "MPI_Comm_dup"));
  return add(comm, out);
}

st_status stmpi_comm_free(int64_t id) {
  stmpi_comm *c;
  if (id == 0) return st_fail(ST_BAD_VALUE, "the world cannot be freed");
  TRY(stmpi_comm_get(id, &c));
  TRY(stmpi_check_unused(c));
  TRY(enter(id, "comm:free", &c));
  TRY(leave(MPI_Comm_free(&c->comm), "MPI_Comm_free"));
  free((void *)(uintptr_t)c->ranks);
  *c = (stmpi_comm){.comm = MPI_COMM_NULL, .id = id};
  return ST_OK;
}

st_status stmpi_check_rank(const stmpi_comm *c, const char *name,
                           int64_t rank) {
  if (rank >= 0 && rank < c->size) return ST_OK;
  return st_fail(ST_BAD_VALUE, "%s is %lld, but the ranks are 0 to %d", name,
                 (long long)rank, c->size - 1);
}

/* -- Start and end -------------------------------------------------------- */

static void count_local_ranks(void) {
  MPI_Comm local;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                          MPI_INFO_NULL, &local) != MPI_SUCCESS) {
    return;
  }
  MPI_Comm_size(local, &local_size);
  MPI_Comm_free(&local);
}

/* A host, or another library, may have started MPI; then it ends it, too. */
static st_status start(void) {
  int was_started = 0, provided;
  MPI_Initialized(&was_started);
  if (was_started) return ST_OK;
  TRY(stmpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided),
                  "MPI_Init_thread"));
  is_ours = true;
  /* MPICH takes the handler of these for an error of a request. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  return ST_OK;
}

/* os.exit does not close the Lua state. */
static void at_exit(void) { stmpi_finalize(); }

st_status stmpi_init(bool checked) {
  MPI_Comm world;
  int64_t id;
  if (is_finalized) {
    return st_fail(ST_BAD_STATE, "MPI is finalized and cannot start again");
  }
  if (is_initialized) {
    is_checked = is_checked || checked;
    return ST_OK;
  }
  TRY(start());
  TRY(stmpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup"));
  is_initialized = true;
  process = getpid();
  if (is_ours) atexit(at_exit);
  TRY(add(world, &id));
  TRY(stmpi_operations_create());
  TRY(stmpi_checks_create());
  TRY(stmpi_watch_create());
  count_local_ranks();
  is_checked = checked;
  return ST_OK;
}

st_status stmpi_finalize(void) {
  if (!is_initialized || is_finalized || process != getpid()) return ST_OK;
  stmpi_say_goodbye();
  stmpi_watch_end();
  stmpi_hear_goodbyes();
  stmpi_operations_free();
  is_finalized = true;
  for (int i = 0; i < ncomms; i++) free((void *)(uintptr_t)comms[i].ranks);
  return is_ours ? stmpi_check(MPI_Finalize(), "MPI_Finalize") : ST_OK;
}

void stmpi_abort(const char *text, int code) {
  const bool runs = is_initialized && !is_finalized;
  if (code < 1 || code > 255) code = 1; /* never that of success */
  fflush(stdout);
  /* In one write: mpirun puts what it prints itself between two. */
  if (runs) dprintf(STDERR_FILENO, "rank %d: %s\n", comms[0].rank, text);
  else dprintf(STDERR_FILENO, "%s\n", text);
  is_finalized = true; /* for at_exit */
  if (runs) MPI_Abort(MPI_COMM_WORLD, code);
  exit(code);
}
