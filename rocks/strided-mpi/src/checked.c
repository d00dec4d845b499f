/* Checked mode: before a collective, the ranks compare what they are about to
 * call. A difference is an error on every rank instead of a wait without end.
 *
 * The comparison is a small all_reduce of a hash. A rank that waits for it also
 * looks for the messages that ranks send when they finish.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stmpi.h"

enum { TEXT = 256, GOODBYE = 1 };

static MPI_Comm control = MPI_COMM_NULL; /* for these messages */
static bool *is_gone;                    /* per rank of the world */

st_status stmpi_checks_create(void) {
  int size;
  TRY(stmpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &control), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
  MPI_Comm_size(control, &size);
  is_gone = calloc((size_t)size, sizeof *is_gone);
  return is_gone ? ST_OK : st_fail(ST_NO_MEMORY, "no memory for the checks");
}

void stmpi_hear_goodbyes(void) {
  MPI_Status status;
  int flag = 1;
  for (;;) {
    if (MPI_Iprobe(MPI_ANY_SOURCE, GOODBYE, control, &flag, &status) !=
        MPI_SUCCESS || !flag) {
      return;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, GOODBYE, control,
             MPI_STATUS_IGNORE);
    is_gone[status.MPI_SOURCE] = true;
  }
}

/* The rank of c that is gone, or -1. */
static int gone(const stmpi_comm *c) {
  for (int i = 0; i < c->size; i++) {
    if (is_gone[c->ranks[i]]) return i;
  }
  return -1;
}

/* Waits for a request of c, or in vain for a rank that has said goodbye. What
 * it had begun before it left still completes, once the others come: for that
 * there is time. */
static st_status wait_or_goodbye(const stmpi_comm *c, MPI_Request *request,
                                 const char *text) {
  double since = 0;
  for (int round = 0;; round++) {
    int flag;
    TRY(stmpi_check(MPI_Test(request, &flag, MPI_STATUS_IGNORE), "MPI_Test"));
    if (flag) return ST_OK;
    stmpi_progress();
    if (round % 64 != 63) continue;
    stmpi_hear_goodbyes();
    const int who = gone(c);
    if (who < 0) continue;
    if (since <= 0) since = MPI_Wtime();
    if (MPI_Wtime() - since < stmpi_patience()) continue;
    return st_fail(ST_BAD_STATE, "rank %d has finished, but rank %d calls %s",
                   who, c->rank, text);
  }
}

bool stmpi_is_in_vain(stmpi_job *j, bool blocks) {
  const stmpi_comm *const c = j->c;
  bool all = true;
  stmpi_hear_goodbyes();
  for (int i = 0; i < c->size; i++) {
    if (j->root >= 0 && i != j->root) continue;
    all = all && (i == c->rank ? blocks : is_gone[c->ranks[i]]);
  }
  const double now = MPI_Wtime();
  if (!all) j->vain_since = 0;
  else if (j->vain_since <= 0) j->vain_since = now;
  return all && now - j->vain_since >= stmpi_patience();
}

st_status stmpi_fail_in_vain(const stmpi_job *j) {
  if (j->root == j->c->rank || j->c->size == 1) {
    return st_fail(ST_BAD_STATE, "%s: rank %d waits for a message that it has "
                   "not sent itself", j->name, j->c->rank);
  }
  if (j->root >= 0) {
    return st_fail(ST_BAD_STATE, "%s: rank %d has finished, but rank %d waits "
                   "for a message from it", j->name, j->root, j->c->rank);
  }
  return st_fail(ST_BAD_STATE, "%s: all other ranks have finished, but rank %d "
                 "waits for a message from one", j->name, j->c->rank);
}

static uint64_t hash(const char *text) {
  uint64_t h = 14695981039346656037u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h;
}

/* The message on a difference: the first rank that differs from rank 0. */
static st_status name_difference(stmpi_comm *c, const char *text) {
  char mine[TEXT] = "";
  char *all = malloc((size_t)c->size * TEXT);
  if (!all) return st_fail(ST_NO_MEMORY, "no memory for the checks");
  snprintf(mine, sizeof mine, "%s", text);
  MPI_Request request;
  st_status status = stmpi_check(
    MPI_Iallgather(mine, TEXT, MPI_CHAR, all, TEXT, MPI_CHAR, c->comm,
                   &request), "MPI_Iallgather");
  if (status == ST_OK) status = wait_or_goodbye(c, &request, text);
  int who = 1;
  while (status == ST_OK && who < c->size - 1 &&
         strcmp(all, all + (size_t)who * TEXT) == 0) {
    who++;
  }
  if (status == ST_OK) {
    status = st_fail(ST_BAD_STATE, "the ranks differ: rank 0 calls %s, but "
                     "rank %d calls %s", all, who, all + (size_t)who * TEXT);
  }
  free(all);
  return status;
}

st_status stmpi_compare(stmpi_comm *c, const char *text) {
  const uint64_t h = hash(text);
  uint64_t of_mine[2] = {h, ~h}, greatest[2];
  MPI_Request request;
  TRY(stmpi_check(MPI_Iallreduce(of_mine, greatest, 2, MPI_UINT64_T, MPI_MAX,
                                 c->comm, &request), "MPI_Iallreduce"));
  TRY(wait_or_goodbye(c, &request, text));
  /* The least hash is the complement of the greatest complement. */
  if (greatest[0] == ~greatest[1]) return ST_OK;
  return name_difference(c, text);
}

void stmpi_say_goodbye(void) {
  int rank, size;
  MPI_Request request;
  MPI_Comm_rank(control, &rank);
  MPI_Comm_size(control, &size);
  for (int i = 0; stmpi_is_checked() && i < size; i++) {
    if (i == rank) continue;
    if (MPI_Isend(NULL, 0, MPI_BYTE, i, GOODBYE, control, &request) ==
        MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }
}
