/* A libFuzzer target: any bytes as the tensor of a DLPack producer. What is
 * refused stays the producer's; what is taken can be read, is handed on and
 * comes back the same, and is given back exactly once.
 *
 * Memory is as large as the geometry needs, worked out here in a way of its
 * own. Geometries that would need more than a page get an address where
 * nothing is: they are looked at, not read.
 *
 *     ./dev fuzz 1000000 dlpack
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strided.h"

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #cond,         \
              st_message());                                                 \
      abort();                                                               \
    }                                                                        \
  } while (0)

/* As in dlpack.h. */
typedef struct dl_tensor {
  void *data;
  struct { int32_t type, id; } device;
  int32_t ndim;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
  dl_tensor dl;
  void *ctx;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  struct { uint32_t major, minor; } version;
  void *ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dl_tensor dl;
};

enum { MOST_DIMS = 66, PAGE = 4096, LOOK = 20000, KINDS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* -- Bytes as fields ------------------------------------------------------ */

typedef struct bytes { const uint8_t *at, *end; } bytes;

static uint8_t take(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

/* Mostly small, often at an edge, sometimes anything. */
static int64_t take_size(bytes *b) {
  static const int64_t edges[16] = {
    0, -1, 1, 1 << 30, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40,
    (int64_t)1 << 53, (int64_t)1 << 61, (int64_t)1 << 62, INT64_MAX,
    INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, -((int64_t)1 << 40), 4097};
  const uint8_t kind = take(b);
  uint64_t n = 0;
  if (kind < 192) return kind % 6;
  if (kind < 240) return edges[kind % 16];
  for (int i = 0; i < 8; i++) n = n << 8 | take(b);
  return (int64_t)n;
}

typedef struct input {
  bool is_versioned;
  uint32_t major;
  uint64_t flags;
  dl_tensor dl;
  int64_t shape[MOST_DIMS], strides[MOST_DIMS];
} input;

static void take_type(bytes *b, dl_tensor *dl) {
  static const uint8_t known[12][2] = {
    {0, 8}, {0, 16}, {0, 32}, {0, 64}, {1, 8}, {2, 16}, {2, 32}, {2, 64},
    {4, 16}, {5, 64}, {5, 128}, {6, 8}};
  const uint8_t kind = take(b);
  dl->dtype.lanes = 1;
  dl->dtype.code = known[kind % 12][0];
  dl->dtype.bits = known[kind % 12][1];
  if (kind < 224) return;
  dl->dtype.code = take(b);
  dl->dtype.bits = take(b);
  dl->dtype.lanes = take(b);
}

static void take_input(bytes *b, input *in) {
  const uint8_t first = take(b), ndim = take(b);
  memset(in, 0, sizeof *in);
  in->is_versioned = first & 1;
  in->major = first & 2 && first & 4 ? take(b) : 1;
  in->flags = first >> 3 & 3;
  in->dl.device.type = first & 32 && first & 64 ? take(b) : 1;
  in->dl.ndim = ndim < 200 ? ndim % 5 : ndim < 250 ? ndim % 66
                                                   : (int8_t)take(b);
  take_type(b, &in->dl);
  in->dl.byte_offset = first & 128 ? (uint64_t)take_size(b) : 0;
  const int n = in->dl.ndim;
  for (int d = 0; d < n && d < MOST_DIMS; d++) {
    in->shape[d] = take_size(b);
    in->strides[d] = take_size(b);
  }
  const uint8_t pointers = take(b);
  in->dl.shape = pointers < 250 ? in->shape : NULL;
  in->dl.strides = pointers % 4 ? in->strides : NULL;
}

/* -- What must come of it ------------------------------------------------- */

/* Bytes from the first element to the end of the last, whole ones, or -1 when
 * no tensor can have this geometry; *numel follows. */
static __int128 extent(const dl_tensor *dl, __int128 *numel) {
  const __int128 most = INT64_MAX;
  __int128 unit = 1, last = 0;
  *numel = 1;
  if (dl->ndim < 0 || dl->ndim > 64 || (dl->ndim > 0 && !dl->shape)) return -1;
  for (int d = dl->ndim - 1; d >= 0; d--) {
    if (dl->shape[d] < 0) return -1;
    *numel *= dl->shape[d];
    if (*numel > most) return -1;
  }
  for (int d = dl->ndim - 1; d >= 0 && *numel > 0; d--) {
    const __int128 stride = dl->strides ? dl->strides[d] : unit;
    if (dl->shape[d] > 1 && stride < 0) return -1;
    if (dl->shape[d] > 1) last += (dl->shape[d] - 1) * stride;
    if (last > most) return -1;
    unit *= dl->shape[d];
  }
  return *numel ? ((last + 1) * dl->dtype.bits + 7) / 8 : 0;
}

/* -- The producer --------------------------------------------------------- */

static int deleted;

static void delete_plain(struct DLManagedTensor *m) { (void)m; deleted++; }

static void delete_versioned(struct DLManagedTensorVersioned *m) {
  (void)m;
  deleted++;
}

/* -- Looking at what was taken -------------------------------------------- */

static void read_all(st_tensor *t) {
  static const st_op *clone;
  const st_value args[2] = {{.tag = ST_TAG_TENSOR, .u.tensor = t},
                            {.tag = ST_TAG_NONE}};
  st_value copy;
  if (!clone) clone = st_op_find("aten::clone", "");
  CHECK(st_call_op(clone, 2, args, &copy) == ST_OK);
  st_value_clear(&copy);
}

static void check_same(const st_tensor *a, const st_tensor *b) {
  const size_t n = (size_t)st_tensor_ndim(a) * sizeof(int64_t);
  CHECK(st_tensor_ndim(a) == st_tensor_ndim(b));
  CHECK(st_tensor_dtype(a) == st_tensor_dtype(b));
  CHECK(memcmp(st_tensor_sizes(a), st_tensor_sizes(b), n) == 0);
}

static void hand_on(st_tensor *t) {
  struct DLManagedTensorVersioned *m;
  st_tensor *again;
  CHECK(st_tensor_to_dlpack_versioned(t, &m) == ST_OK);
  CHECK(st_tensor_from_dlpack_versioned(m, &again) == ST_OK);
  check_same(t, again);
  st_tensor_release(&again);
}

static void look_at(st_tensor *t, const input *in, bool is_readable) {
  CHECK(st_tensor_ndim(t) == in->dl.ndim);
  for (int d = 0; d < in->dl.ndim; d++) {
    CHECK(st_tensor_sizes(t)[d] == in->shape[d]);
  }
  if (is_readable) read_all(t);
  hand_on(t);
}

/* -- The target ----------------------------------------------------------- */

typedef union managed {
  struct DLManagedTensor plain;
  struct DLManagedTensorVersioned versioned;
} managed;

static st_status import(const input *in, managed *m, st_tensor **out) {
  if (in->is_versioned) {
    m->versioned = (struct DLManagedTensorVersioned){
      {in->major, 0}, NULL, delete_versioned, in->flags, in->dl};
    return st_tensor_from_dlpack_versioned(&m->versioned, out);
  }
  m->plain = (struct DLManagedTensor){in->dl, NULL, delete_plain};
  return st_tensor_from_dlpack(&m->plain, out);
}

static void check_live(void) {
  static int64_t before[KINDS];
  static bool is_known;
  st_memory m;
  for (int k = 0; k < KINDS && st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, "registry") == 0) continue;
    if (!is_known) before[k] = m.count;
    CHECK(m.count == before[k]);
  }
  is_known = true;
}

/* Memory of n bytes behind the offset; the offset must be ours to add. */
static void *make_memory(input *in, __int128 n) {
  if (in->dl.byte_offset > PAGE) in->dl.byte_offset %= PAGE;
  char *p = malloc((size_t)n + (size_t)in->dl.byte_offset + !n);
  CHECK(p);
  memset(p, 1, (size_t)n + (size_t)in->dl.byte_offset);
  return p;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  CHECK(st_init() == ST_OK);
  LLVMFuzzerTestOneInput((const uint8_t *)"\1\2\3\4\5\6\1", 7);
  check_live();
  atexit(check_live);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static unsigned inputs;
  input in;
  managed m;
  st_tensor *t = NULL;
  __int128 numel;
  take_input(&(bytes){data, data + size}, &in);
  const __int128 n = extent(&in.dl, &numel);
  const bool is_readable = n >= 0 && n <= PAGE && numel <= PAGE;
  void *memory = is_readable ? make_memory(&in, n) : NULL;
  in.dl.data = memory ? memory : (void *)(uintptr_t)64;
  /* What is read-only is copied, so it must be there. */
  if (!is_readable) in.flags = 0;
  deleted = 0;
  if (import(&in, &m, &t) == ST_OK) {
    CHECK(n >= 0 && in.dl.device.type == 1 && in.dl.dtype.lanes == 1);
    CHECK(!in.is_versioned || in.major == 1);
    look_at(t, &in, is_readable);
    st_tensor_release(&t);
    CHECK(deleted == 1);
  } else {
    CHECK(!t && deleted == 0);
  }
  free(memory);
  if (++inputs % LOOK == 0) check_live();
  return 0;
}
