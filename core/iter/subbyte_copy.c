/* Copies from and to tensors of integers of fewer than eight bits.
 *
 * A row is converted in pieces: the elements of a piece are spread over bytes
 * in a buffer, converted there, and put together again, as far as the dtypes
 * need it. Rows begin at bytes, and so do pieces, so threads share no byte.
 */

#include "iter/subbyte_copy.h"

#include <string.h>

#include "base/status.h"
#include "base/threads.h"
#include "kernel/kernel.h"

enum { PIECE = 4096 }; /* elements; a multiple of those of a byte */

/* One of the two tensors. */
typedef struct side {
  char *data;                  /* of the storage */
  st_dtype dtype;
  bool is_packed;
  int64_t offset, step;        /* of a row, in elements; from one to the next */
  const int64_t *strides;      /* of the dimensions of rows */
} side;

typedef struct job {
  side dst, src;
  int ndim;                    /* of the rows */
  const int64_t *sizes;
  int64_t row, pieces;         /* elements of a row; pieces of it */
  st_dtype byte;               /* of the buffer */
  st_loop unpack, pack;        /* NULL if that side is not packed */
  st_loop convert;             /* between the buffer and the other side */
} job;

/* -- A piece -------------------------------------------------------------- */

static char *place(const side *s, int64_t at) {
  return s->is_packed ? s->data + at / st__per_byte(s->dtype)
                      : s->data + at * (int64_t)st__itemsize(s->dtype);
}

/* Are the elements in memory what the buffer would be? */
static bool are_bytes(const side *s) {
  return (s->dtype == ST_INT8 || s->dtype == ST_UINT8) && s->step == 1;
}

static void run(st_loop loop, char *to, const char *from, int64_t n,
                int64_t to_stride, int64_t from_stride) {
  loop((char *[]){to, (char *)(uintptr_t)from},
       (int64_t[]){to_stride, from_stride, 0, 0}, n, 1, NULL);
}

static int64_t stride(const side *s) {
  return s->step * (int64_t)st__itemsize(s->dtype);
}

/* The n elements of dst from `to` on become those of src from `from` on. */
static void copy_piece(const job *j, int64_t to, int64_t from, int64_t n) {
  _Alignas(64) char buffer[PIECE];
  char *out = place(&j->dst, to), *bytes = buffer;
  const char *in = place(&j->src, from);
  if (j->unpack) {
    if (are_bytes(&j->dst)) bytes = out;
    run(j->unpack, bytes, in, n, 1, 1);
  } else if (are_bytes(&j->src)) {
    bytes = (char *)(uintptr_t)in;
  } else {
    run(j->convert, bytes, in, n, 1, stride(&j->src));
  }
  if (j->pack) {
    run(j->pack, out, bytes, n, 1, 1);
  } else if (bytes != out) {
    run(j->convert, out, bytes, n, stride(&j->dst), 1);
  }
}

static void copy_pieces(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  for (int64_t k = begin; k < end; k++) {
    const int64_t first = k % j->pieces * PIECE, left = j->row - first;
    int64_t to = j->dst.offset, from = j->src.offset, row = k / j->pieces;
    for (int d = j->ndim - 1; d >= 0; d--) {
      const int64_t i = row % j->sizes[d];
      row /= j->sizes[d];
      to += i * j->dst.strides[d];
      from += i * j->src.strides[d];
    }
    copy_piece(j, to + first * j->dst.step, from + first * j->src.step,
               left < PIECE ? left : PIECE);
  }
}

/* -- Plans ---------------------------------------------------------------- */

/* One row of all elements? */
static bool is_one_row(const st_tensor *t) {
  const int64_t row = t->ndim ? t->sizes[t->ndim - 1] : 1;
  return st__is_contiguous(t) &&
         (row % st__per_byte((st_dtype)t->dtype) == 0 || row == t->numel);
}

static side side_of(const st_tensor *t, bool is_merged) {
  const bool has_row = t->ndim > 0 && !is_merged;
  return (side){.data = t->storage->data, .dtype = (st_dtype)t->dtype,
                .is_packed = st__is_subbyte_tensor(t), .offset = t->offset,
                .step = has_row ? t->strides[t->ndim - 1] : 1,
                .strides = t->strides};
}

st_status st__copy_rows(st_tensor *dst, const st_tensor *src) {
  enum { GRAIN = ST_GRAIN / PIECE };
  const bool is_merged = is_one_row(dst) && is_one_row(src);
  job j = {.dst = side_of(dst, is_merged), .src = side_of(src, is_merged),
           .sizes = dst->sizes, .ndim = is_merged ? 0 : dst->ndim - 1};
  const st_dtype packed = j.dst.is_packed ? j.dst.dtype : j.src.dtype;
  if (st__is_meta(dst) || st__is_meta(src)) {
    st__miss_elements();
    return ST_OK;
  }
  if (dst->numel == 0) return ST_OK;
  j.row = is_merged || dst->ndim == 0 ? dst->numel : dst->sizes[dst->ndim - 1];
  j.pieces = (j.row + PIECE - 1) / PIECE;
  j.byte = st__byte_dtype(packed);
  if (j.src.is_packed) j.unpack = st__kernel(ST_K_unpack, j.src.dtype);
  if (j.dst.is_packed) j.pack = st__kernel(ST_K_pack, j.dst.dtype);
  j.convert = j.src.is_packed ? st__copy_kernel(j.dst.dtype, j.byte)
                              : st__copy_kernel(j.byte, j.src.dtype);
  const int64_t grain = GRAIN * (j.row < PIECE ? PIECE / j.row : 1);
  return st__parallel_try(0, dst->numel / j.row * j.pieces, grain,
                          copy_pieces, &j);
}
