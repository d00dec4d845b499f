/* What messages say about themselves in checked mode.
 *
 * Note [Headers of messages]
 * MPI does not tell the receiver of a message which dtype and shape were sent.
 * In checked mode a message begins with a header that does. Header and elements
 * are one message, of a type that joins both places: so order, tags, sources,
 * requests and communicators are as without a header, and a message that does
 * not fit is received all the same. The receiver compares the header with what
 * it has put there before: its own.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stmpi.h"

static const uint64_t MAGIC = 0x5354524d50494844u;

struct stmpi_header {
  uint64_t magic;  /* 0 before the message arrives */
  int32_t rank;    /* of the sender in the communicator */
  int32_t dtype, ndim, filler;
  int64_t sizes[ST_MAX_DIMS];
};

/* Of a job that receives there are two: that of the message, and what is
 * expected. */
st_status stmpi_header_new(stmpi_job *j, const st_tensor *self) {
  if (!stmpi_is_checked() || j->is_meta) return ST_OK;
  stmpi_header *const h = calloc(2, sizeof *h);
  if (!h) return st_fail(ST_NO_MEMORY, "no memory for the header of a message");
  stmpi_header *const own = j->receives ? h + 1 : h;
  own->magic = MAGIC;
  own->rank = j->c->rank;
  own->dtype = (int32_t)st_tensor_dtype(self);
  own->ndim = st_tensor_ndim(self);
  for (int i = 0; i < own->ndim; i++) {
    own->sizes[i] = st_tensor_sizes(self)[i];
  }
  j->header = h;
  return ST_OK;
}

st_status stmpi_header_type(stmpi_job *j, void *data, int n, MPI_Datatype type,
                            MPI_Datatype *out) {
  const int counts[] = {(int)sizeof *j->header, n};
  const MPI_Datatype types[] = {MPI_BYTE, type};
  MPI_Aint at[2];
  MPI_Get_address(j->header, &at[0]);
  MPI_Get_address(data, &at[1]);
  int code = MPI_Type_create_struct(n ? 2 : 1, counts, at, types, out);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(out);
  return stmpi_check(code, "MPI_Type_commit");
}

/* As stmpi_describe. */
static const char *describe(const stmpi_header *h, char *buf, size_t size) {
  int n = snprintf(buf, size, "%s [", st_dtype_name((st_dtype)h->dtype));
  for (int i = 0; i < h->ndim && (size_t)n + 24 < size; i++) {
    n += snprintf(buf + n, size - (size_t)n, "%s%lld", i ? ", " : "",
                  (long long)h->sizes[i]);
  }
  snprintf(buf + n, size - (size_t)n, "]");
  return buf;
}

st_status stmpi_header_compare(stmpi_job *j, int source) {
  const stmpi_header *const got = j->header, *const own = got + 1;
  char of_got[320], of_own[320];
  if (got->magic != MAGIC) {
    if (source < 0) return ST_OK; /* the message is too long */
    return st_fail(ST_BAD_STATE, "%s: rank %d has sent a message without a "
                   "header: turn checked mode on on all ranks", j->name,
                   source);
  }
  if (got->dtype == own->dtype && got->ndim == own->ndim &&
      memcmp(got->sizes, own->sizes, sizeof got->sizes) == 0) {
    return ST_OK;
  }
  return st_fail(ST_BAD_STATE, "%s: the ranks differ: rank %d receives %s, but "
                 "rank %d has sent %s", j->name, own->rank,
                 describe(own, of_own, sizeof of_own), got->rank,
                 describe(got, of_got, sizeof of_got));
}
