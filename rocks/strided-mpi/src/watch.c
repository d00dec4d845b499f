/* Finds, at the end, the ranks that wait for one that has finished.
 *
 * Note [Waiting for a rank that has finished]
 * A rank that ends early would leave the others in a collective without end:
 * they are inside of MPI, and cannot look around. So the rank that has finished
 * looks at them. Each rank notes in a window of one-sided communication what it
 * waits for: the number of the collective on its communicator. A rank that ends
 * waits for the others in a barrier, and meanwhile reads their notes. If one
 * waits in a collective of a common communicator whose number is higher than
 * that of the reader's last one, nobody will ever complete it: the reader ends
 * all ranks, with a message. The proof needs no timeout: the others may compute
 * for hours before they finish.
 *
 * A wait for a message from, or to, the reader is no proof, as the message may
 * be under way. It must last for stmpi_patience(). So must a wait for a message
 * from any rank, when all others have finished. A request that a rank tests in a
 * loop is noted as well; for a message, the rank must test it all the time.
 *
 * Communicators are known by a number that their ranks agree on when they make
 * one. It is higher than the numbers of all others that one of them has, so two
 * communicators with a rank in common have different numbers.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stmpi.h"

/* Seconds between two looks. */
static const double PERIOD = 0.25;

double stmpi_patience(void) {
  const char *const given = getenv("STRIDED_MPI_PATIENCE");
  const double seconds = given ? strtod(given, NULL) : 5;
  return seconds > 0 ? seconds : 5;
}

enum { NOTHING = 0, MESSAGE = -1, FINISHED = -2, ANY = -1 };

typedef struct note {
  int64_t comm;     /* NOTHING, MESSAGE, FINISHED, or waits in a collective */
  int64_t call;     /* its number; of a message the peer in the world, or ANY */
  int64_t of;       /* the communicator of a message */
  int64_t polls;    /* how often it was tested; 0: it is waited for */
  int64_t serial;   /* changes with each wait */
  int64_t row;      /* of the operator: its place in the library, the same in
                     * all processes; 0: none */
} note;

/* PLACES: of communicators that can be told apart. */
enum { PLACES = 4096 };

/* What other ranks read. An entry of `begun` is the number of a communicator,
 * times 2^32, and the number of collectives begun on it. */
typedef struct board {
  note note;
  uint64_t begun[PLACES];
} board;

static MPI_Win window = MPI_WIN_NULL;
static MPI_Comm all = MPI_COMM_NULL;
static board nowhere;         /* without a window */
static board *shown = &nowhere; /* in the window */
static note *own = &nowhere.note;
static int64_t serial, polled = -1; /* the request that was tested last */

st_status stmpi_watch_create(void) {
  TRY(stmpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  board *memory;
  TRY(stmpi_check(MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, all,
                                   &memory, &window), "MPI_Win_allocate"));
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  *memory = nowhere;
  shown = memory;
  own = &shown->note;
  TRY(stmpi_check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window),
                  "MPI_Win_lock_all"));
  return stmpi_check(MPI_Barrier(all), "MPI_Barrier");
}

/* -- Notes ---------------------------------------------------------------- */

/* Not 0. */
static int64_t place_of(const stmpi_operator *row) {
  return (int64_t)((uintptr_t)row - (uintptr_t)stmpi_lists);
}

/* The name of an operator by its place. */
static const char *name_at(int64_t place, char *buf, size_t size) {
  for (int i = 0; i < STMPI_LISTS; i++) {
    for (const stmpi_operator *row = stmpi_lists[i]; row->schema; row++) {
      if (place_of(row) != place) continue;
      snprintf(buf, size, "mpi::%.*s", (int)strcspn(row->schema, "("),
               row->schema);
      return buf;
    }
  }
  return "a call of a communicator";
}

void stmpi_watch_enter(const stmpi_job *j) {
  volatile note *const to = own;
  const stmpi_comm *c = j->c;
  to->serial = ++serial;
  to->row = j->row ? place_of(j->row) : 0;
  to->call = !j->is_message ? j->number
           : j->root < 0 ? ANY : c->ranks[j->root];
  to->of = c->number;
  to->polls = 0;
  to->comm = j->is_message ? MESSAGE : c->number;
  polled = -1;
}

void stmpi_watch_leave(void) {
  *(volatile int64_t *)&own->comm = NOTHING;
  polled = -1;
}

void stmpi_watch_poll(const stmpi_job *j, int64_t id) {
  if (polled != id) stmpi_watch_enter(j);
  polled = id;
  ++*(volatile int64_t *)&own->polls;
}

/* -- Collectives that have begun ------------------------------------------ */

/* The entry of c, and its place. */
static uint64_t entry_of(const stmpi_comm *c, size_t *place) {
  *place = (size_t)c->number % PLACES;
  return (uint64_t)c->number << 32 | (uint32_t)c->ncalls;
}

void stmpi_watch_begun(const stmpi_comm *c) {
  size_t place;
  const uint64_t entry = entry_of(c, &place);
  *(volatile uint64_t *)&shown->begun[place] = entry;
}

/* Reads the entry of c on one of its ranks; 0 if that fails. */
static uint64_t read_entry(const stmpi_comm *c, int rank, size_t place) {
  uint64_t entry = 0;
  MPI_Request request;
  int done = 0;
  if (MPI_Rget(&entry, sizeof entry, MPI_BYTE, c->ranks[rank],
               (MPI_Aint)(offsetof(board, begun) + place * sizeof entry),
               sizeof entry, MPI_BYTE, window, &request) != MPI_SUCCESS) {
    return 0;
  }
  while (!done) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 0;
    stmpi_progress();
  }
  return entry;
}

void stmpi_watch_gather(const stmpi_comm *c) {
  size_t place;
  const uint64_t mine = entry_of(c, &place);
  for (int i = 0; i < c->size && stmpi_has_stages();) {
    const uint64_t entry = i == c->rank ? mine : read_entry(c, i, place);
    const bool has_begun = entry >> 32 == mine >> 32 &&
                           (int32_t)((uint32_t)entry - (uint32_t)mine) >= 0;
    if (has_begun) i++;
    else stmpi_progress();
  }
}

/* -- Reading them --------------------------------------------------------- */

typedef struct look {
  note *notes, *before;   /* of each rank; the note at the first sight of it */
  double *since;          /* of `before` */
  MPI_Request *requests;
  int rank, size;
} look;

static void look_free(look *l) {
  free(l->notes);
  free(l->before);
  free(l->since);
  free(l->requests);
}

static bool look_new(look *l) {
  MPI_Comm_rank(all, &l->rank);
  MPI_Comm_size(all, &l->size);
  l->notes = calloc((size_t)l->size, sizeof *l->notes);
  l->before = calloc((size_t)l->size, sizeof *l->before);
  l->since = calloc((size_t)l->size, sizeof *l->since);
  l->requests = malloc((size_t)l->size * sizeof *l->requests);
  if (!l->notes || !l->before || !l->since || !l->requests) return false;
  for (int i = 0; i < l->size; i++) l->requests[i] = MPI_REQUEST_NULL;
  return true;
}

/* True if all ranks but r of a communicator with this rank have finished. */
static bool is_alone(const look *l, int r, int64_t comm) {
  const stmpi_comm *const c = stmpi_comm_with(comm, r);
  for (int i = 0; c && i < c->size; i++) {
    const int other = c->ranks[i];
    if (other == r || other == l->rank) continue;
    if (l->before[other].comm != FINISHED) return false;
  }
  return c != NULL;
}

/* Fails all ranks if rank r has waited for a message for too long. */
static void judge_message(look *l, int r, const note *n, double now) {
  char text[240], name[64];
  const bool is_vain = n->call == ANY ? is_alone(l, r, n->of)
                                      : n->call == l->rank;
  if (!is_vain) l->since[r] = now;
  if (now - l->since[r] < stmpi_patience()) return;
  snprintf(text, sizeof text, n->call == ANY
           ? "all other ranks have finished, but rank %d waits for one in %s"
           : "this rank has finished, but rank %d waits for it in %s", r,
           name_at(n->row, name, sizeof name));
  stmpi_abort(text, 1);
}

/* Fails all ranks if rank r waits in vain for this one. */
static void judge(look *l, int r) {
  const note *const n = &l->notes[r];
  note *const before = &l->before[r];
  char text[240], name[64];
  const double now = MPI_Wtime();
  if (n->serial != before->serial || n->comm != before->comm ||
      (n->polls && n->polls == before->polls)) {
    l->since[r] = now;
  }
  *before = *n;
  if (n->comm == NOTHING || n->comm == FINISHED) return;
  if (n->comm == MESSAGE) {
    judge_message(l, r, n, now);
    return;
  }
  const stmpi_comm *const c = stmpi_comm_with(n->comm, r);
  if (!c || n->call <= c->ncalls) return;
  snprintf(text, sizeof text, "this rank has finished after %lld "
           "collectives, but rank %d waits for it in number %lld, %s",
           (long long)c->ncalls, r, (long long)n->call,
           name_at(n->row, name, sizeof name));
  stmpi_abort(text, 1);
}

/* Judges the notes that have arrived; `ask` asks for new ones. */
static void read_notes(look *l, bool ask) {
  for (int r = 0; r < l->size; r++) {
    int done = 1;
    if (r == l->rank) continue;
    if (l->requests[r] != MPI_REQUEST_NULL) {
      if (MPI_Test(&l->requests[r], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return;
      }
      if (done) judge(l, r);
    }
    if (done && ask) {
      MPI_Rget(&l->notes[r], sizeof(note), MPI_BYTE, r, 0, sizeof(note),
               MPI_BYTE, window, &l->requests[r]);
    }
  }
}

static void rest(void) {
  const struct timespec t = {0, 200000};
  nanosleep(&t, NULL);
}

void stmpi_watch_end(void) {
  look l = {.notes = NULL};
  MPI_Request request;
  int done = 0;
  if (window == MPI_WIN_NULL) return;
  *(volatile int64_t *)&own->comm = FINISHED;
  if (look_new(&l) && MPI_Ibarrier(all, &request) == MPI_SUCCESS) {
    double next = MPI_Wtime() + PERIOD;
    for (int round = 0; !done; round++) {
      const bool asks = MPI_Wtime() >= next;
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
      read_notes(&l, asks && !done);
      stmpi_progress();
      if (asks) next = MPI_Wtime() + PERIOD;
      if (round > 1000) rest();
    }
    for (int r = 0; r < l.size; r++) {
      MPI_Wait(&l.requests[r], MPI_STATUS_IGNORE);
    }
  }
  look_free(&l);
  stmpi_finish_requests(all);
  shown = &nowhere;
  own = &nowhere.note;
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}
