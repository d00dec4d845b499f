/* Requests that are in progress when all ranks have finished: nobody begins
 * anything any more.
 *
 * A collective completes if all ranks of its communicator have begun it, which
 * their numbers of collectives tell. A message gets a time that grows with its
 * length. What does not complete ends all ranks, with a text that names it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stmpi.h"

/* Bytes per second that a message gets besides stmpi_patience(). */
static const double SPEED = 1e7;

/* A communicator of a rank. */
typedef struct begun {
  int64_t comm, calls; /* its number, the collectives begun on it */
} begun;

/* Of all ranks. */
typedef struct census {
  begun *list;         /* rank r's are those from first[r] to first[r + 1] */
  int *first, *counts, *offsets;
} census;

static void census_free(census *s) {
  free(s->list);
  free(s->first);
  free(s->counts);
  free(s->offsets);
}

static begun *own_list(int *n) {
  const stmpi_comm *comms;
  const int ncomms = stmpi_comms(&comms);
  begun *list = malloc((size_t)(ncomms + 1) * sizeof *list);
  *n = 0;
  for (int i = 0; list && i < ncomms; i++) {
    if (comms[i].comm == MPI_COMM_NULL) continue;
    list[(*n)++] = (begun){comms[i].number, comms[i].ncalls};
  }
  return list;
}

/* Collects the lists of all ranks. */
static st_status census_take(MPI_Comm all, census *s) {
  int n, size, total = 0;
  MPI_Comm_size(all, &size);
  begun *own = own_list(&n);
  s->first = calloc((size_t)size + 1, sizeof *s->first);
  s->counts = calloc((size_t)size, sizeof *s->counts);
  s->offsets = calloc((size_t)size, sizeof *s->offsets);
  int code = MPI_ERR_NO_MEM;
  if (own && s->first && s->counts && s->offsets) {
    code = MPI_Allgather(&n, 1, MPI_INT, s->first + 1, 1, MPI_INT, all);
  }
  for (int r = 0; code == MPI_SUCCESS && r < size; r++) {
    s->offsets[r] = 2 * total;
    s->counts[r] = 2 * s->first[r + 1];
    s->first[r] = total;
    total += s->first[r + 1];
  }
  if (code == MPI_SUCCESS) {
    s->first[size] = total;
    s->list = malloc((size_t)total * sizeof *s->list);
    code = !s->list ? MPI_ERR_NO_MEM
         : MPI_Allgatherv(own, 2 * n, MPI_INT64_T, s->list, s->counts,
                          s->offsets, MPI_INT64_T, all);
  }
  free(own);
  return stmpi_check(code, "MPI_Allgatherv");
}

/* The collectives that rank r of the world has begun on a communicator. */
static int64_t calls_of(const census *s, int r, int64_t comm) {
  for (int i = s->first[r]; i < s->first[r + 1]; i++) {
    if (s->list[i].comm == comm) return s->list[i].calls;
  }
  return 0;
}

/* Ends all ranks if a rank has not begun the collective. */
static void judge_collective(const census *s, const stmpi_job *j) {
  char text[240];
  for (int i = 0; i < j->c->size; i++) {
    const int r = j->c->ranks[i];
    const int64_t calls = calls_of(s, r, j->c->number);
    if (calls >= j->number) continue;
    snprintf(text, sizeof text, "all ranks have finished, but %s, number %lld "
             "of the collectives on its communicator, is in progress: rank %d "
             "has called %lld", j->name, (long long)j->number, r,
             (long long)calls);
    stmpi_abort(text, 1);
  }
}

/* Waits for a message that has been under way since `start`. */
static void await_message(const stmpi_job *j, int64_t id, double start) {
  const struct timespec rest = {0, 200000};
  const double bytes = (double)j->n * (double)st_dtype_size(j->dtype);
  char text[240], peer[32] = "any rank";
  bool done = false;
  while (stmpi_test(id, &done) == ST_OK && !done) {
    if (MPI_Wtime() - start > stmpi_patience() + bytes / SPEED) {
      if (j->root >= 0) snprintf(peer, sizeof peer, "rank %d", j->root);
      snprintf(text, sizeof text, "all ranks have finished, but %s %s %s with "
               "tag %d is in progress: it was not %s", j->name,
               j->receives ? "from" : "to", peer, j->tag,
               j->receives ? "sent" : "received");
      stmpi_abort(text, 1);
    }
    nanosleep(&rest, NULL);
  }
}

void stmpi_finish_requests(MPI_Comm all) {
  census s = {.list = NULL};
  const stmpi_job *j;
  int64_t id, n = 0;
  for (int i = 0; stmpi_next_request_id(&i, &j) >= 0;) n++;
  if (MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_SUM, all) !=
      MPI_SUCCESS || n == 0) {
    return;
  }
  if (census_take(all, &s) == ST_OK) {
    const double start = MPI_Wtime();
    for (int i = 0; stmpi_next_request_id(&i, &j) >= 0;) {
      if (!j->is_message) judge_collective(&s, j);
    }
    for (int i = 0; (id = stmpi_next_request_id(&i, &j)) >= 0;) {
      if (j->is_message) await_message(j, id, start);
    }
  }
  census_free(&s);
  stmpi_reap(true);
}
