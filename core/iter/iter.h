/* The tensor iterator: operands in, few strided loops out (I1 to I20).
 *
 *   st_iter it;
 *   st__iter_init(&it, ST_ITER_BINARY);
 *   st__iter_output(&it, out_or_null);
 *   st__iter_input(&it, a);
 *   st__iter_input(&it, b);
 *   ST_TRY_FAIL(st__iter_build(&it));
 *   st__iter_run(&it, loop, ctx, grain);      // unless interrupted
 *   result = st__iter_take_output(&it, 0);
 *  fail:
 *   st__iter_release(&it);
 *
 * Note [Build before the first write]
 * st__iter_build does everything that can fail, temporaries included; the
 * caller chooses its loop by it.common_dtype before it runs. Outputs that
 * need another dtype or shape are changed at the end of build, after every
 * check.
 */
#ifndef ST_ITER_ITER_H
#define ST_ITER_ITER_H

#include "kernel/kernel.h"
#include "tensor/memory_format.h"
#include "tensor/overlap.h"

enum {
  /* Note [Overlapping inputs are copied] */
  ST_ITER_CHECK_OVERLAP     = 1 << 0,
  ST_ITER_CPU_SCALARS       = 1 << 1,
  ST_ITER_REDUCTION         = 1 << 2,
  ST_ITER_RESIZE_OUTPUTS    = 1 << 3,
  ST_ITER_SAME_DTYPE        = 1 << 4,  /* check_all_same_dtype */
  ST_ITER_SAME_DEVICE       = 1 << 5,
  ST_ITER_SAFE_CAST         = 1 << 6,  /* enforce_safe_casting_to_output */
  ST_ITER_LINEAR            = 1 << 7,  /* enforce_linear_iteration */
  ST_ITER_PROMOTE           = 1 << 8,  /* promote_inputs_to_common_dtype */
  ST_ITER_INT_TO_FLOAT      = 1 << 9,
  ST_ITER_CAST_OUTPUTS      = 1 << 10, /* cast_common_dtype_to_outputs */
  ST_ITER_BORROWED          = 1 << 11, /* the operands outlive the iterator:
                                          build does not retain them */
  ST_ITER_TEMPORARIES       = 1 << 12, /* converts through temporaries, not
                                          inside the loop: for callers that walk
                                          the data themselves */

  /* The presets of ATen's TensorIteratorBase. */
  ST_ITER_DEFAULT  = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
                     ST_ITER_SAME_DTYPE | ST_ITER_SAME_DEVICE,
  ST_ITER_BINARY   = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
                     ST_ITER_SAME_DEVICE | ST_ITER_CPU_SCALARS |
                     ST_ITER_PROMOTE | ST_ITER_CAST_OUTPUTS |
                     ST_ITER_SAFE_CAST,
  ST_ITER_BINARY_FLOAT = ST_ITER_BINARY | ST_ITER_INT_TO_FLOAT,
  ST_ITER_COMPARE  = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
                     ST_ITER_SAME_DEVICE | ST_ITER_CPU_SCALARS |
                     ST_ITER_PROMOTE, /* static dtype and cast: see op */
  ST_ITER_UNARY    = ST_ITER_DEFAULT,
  ST_ITER_UNARY_FLOAT = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
                     ST_ITER_SAME_DEVICE | ST_ITER_PROMOTE |
                     ST_ITER_CAST_OUTPUTS | ST_ITER_SAFE_CAST |
                     ST_ITER_INT_TO_FLOAT,
  ST_ITER_NULLARY  = ST_ITER_CHECK_OVERLAP | ST_ITER_SAME_DEVICE,
  ST_ITER_REDUCE   = ST_ITER_REDUCTION | ST_ITER_SAME_DEVICE |
                     ST_ITER_PROMOTE,

  ST_ITER_MAX_OPERANDS = 16,
  ST_ITER_INLINE = 320 /* int64 slots in the struct: enough for two operands of
                          ST_MAX_DIMS */
};

typedef enum st_fast_setup {
  ST_FAST_NONE, ST_FAST_CONTIGUOUS, ST_FAST_CHANNELS_LAST, ST_FAST_DENSE
} st_fast_setup;

typedef struct st_iter_operand {
  st_tensor *tensor;    /* what the loop accesses; owned after build */
  st_tensor *original;  /* the caller's tensor, if tensor is a temporary */
  int64_t *stride;      /* strides in bytes, one per iterator dimension */
  char *data;           /* NULL on the meta device */
  st_dtype target;      /* before build: the dtype that an input, or an output
                           that is NULL, shall have; after: the dtype that the
                           loop sees */
  st_dtype seen;        /* the requested dtype, or else the tensor's; then what
                           the loop reads */
  bool casts;           /* the tensor's dtype is not target: see buffer.h */
  bool owns_tensor, owns_original;
  bool is_output;
  bool will_resize;
  bool is_read_write;   /* an output that is also an input */
  double scalar[2];     /* the converted value of a 0-dim input of another
                           dtype: data points here, tensor is unchanged */
} st_iter_operand;

static inline bool st__is_inline_scalar(const st_iter_operand *op) {
  return op->data == (const char *)op->scalar;
}

typedef struct st_iter {
  uint32_t flags;
  int noperands, noutputs, ndim;
  int ncasts;           /* number of operands that cast */
  st_iter_operand op[ST_ITER_MAX_OPERANDS];
  int64_t *shape;       /* fastest dimension first */
  int64_t numel;
  int perm[ST_MAX_DIMS];   /* iterator dimension -> original dimension */
  int nperm;               /* 0 after a fast set-up */
  st_dtype common_dtype;
  st_dtype static_dtype;   /* ST_DTYPE_NONE unless the caller sets it: the dtype
                              that the loop writes instead of common_dtype. New
                              outputs have it; with CAST_OUTPUTS others are
                              converted from it */
  st_kernel_key kernel;    /* of the loop that runs, for captures; id NONE
                              unless the caller sets it */
  st_device device;
  st_device static_device; /* of new outputs; ST_DEVICE_COUNT, which means the
                              inputs' device, unless the caller sets it */
  const int64_t *static_shape; /* borrowed until build; NULL unless set */
  int static_ndim;
  st_fast_setup fast;
  bool is_meta, coalesced, same_shape;
  bool accumulate, final_output; /* set by splitting a reduction */
  int common_ndim;               /* shape before reordering, for plans */
  int64_t *common_shape;
  int64_t *view_offset;          /* per dimension, the index at which a narrowed
                                    dimension starts */
  void *heap;                    /* used if the inline slots are too few */
  size_t heap_size;
  int64_t slots[ST_ITER_INLINE];
} st_iter;

void st__iter_init(st_iter *it, uint32_t flags);
/* Add operands, outputs first. The tensors are borrowed until build, which
 * retains them. A NULL output is allocated with dtype (or the common dtype for
 * ST_DTYPE_NONE). */
void st__iter_output(st_iter *it, const st_tensor *t, st_dtype dtype);
void st__iter_input(st_iter *it, const st_tensor *t);
/* Adds an input that the loop sees in dtype, instead of type promotion. */
void st__iter_input_as(st_iter *it, const st_tensor *t, st_dtype dtype);
st_status st__iter_build(st_iter *it);
void st__iter_release(st_iter *it); /* also after a failed build; idempotent */

/* The caller's tensor for output i (given or allocated), owned by the
 * caller. */
st_tensor *st__iter_take_output(st_iter *it, int i);

/* -- Running -------------------------------------------------------------- */

/* Runs loop over all elements, on several threads if there are more than grain.
 * Runs only once, because it may reorder the iterator. INTERRUPTED is its only
 * failure on the CPU (Note [Interrupts of long calls]). On an extension device,
 * whose memory it cannot access, NO_KERNEL. */
__attribute__((warn_unused_result))
st_status st__iter_run(st_iter *it, st_loop loop, const void *ctx,
                       int64_t grain);
/* The same for a loop that depends only on the operands' elements, so that it
 * may run on copies of them: Note [Packing short rows] in buffer.h. */
__attribute__((warn_unused_result))
st_status st__iter_map(st_iter *it, st_loop loop, const void *ctx,
                       int64_t grain);
/* Runs on the calling thread, in order. */
__attribute__((warn_unused_result))
st_status st__iter_run_serial(const st_iter *it, st_loop loop, const void *ctx);

/* Runs a loop for one element, outside of an iterator (Note [The stack of a
 * loop]). */
void st__run_loop_once(st_loop loop, char **data, const int64_t *strides,
                       const void *ctx);
/* The same for the elements [begin, end) in linear order, for range functions:
 * it ends early if the parallel loop around it stops. */
void st__iter_serial_range(const st_iter *it, st_loop loop, const void *ctx,
                           int64_t begin, int64_t end);
/* Runs a loop that reads the inputs and writes no output. */
__attribute__((warn_unused_result))
st_status st__iter_read(const st_iter *it, st_loop loop, const void *ctx);

/* -- Inspection ----------------------------------------------------------- */

bool st__iter_is_contiguous(const st_iter *it);
bool st__iter_has_contiguous_first_dim(const st_iter *it);

/* The layout of operands along the first dimension (I16): all contiguous;
 * contiguous but for one input of stride 0; any other. */
typedef enum st_inner { ST_INNER_VECTOR, ST_INNER_SCALAR, ST_INNER_STRIDED }
  st_inner;
st_inner st__iter_inner(const st_iter *it);

/* The 2-d loop calls for a linear range: step k covers n0 x n1 elements,
 * offset[i] bytes from the start of operand i. Returns how many steps it wrote,
 * at most max. */
typedef struct st_iter_step {
  int64_t n0, n1;
  int64_t offset[ST_ITER_MAX_OPERANDS];
} st_iter_step;
int64_t st__iter_steps(const st_iter *it, int64_t begin, int64_t end,
                       st_iter_step *steps, int64_t max);

/* -- Splitting (I15, I11) ------------------------------------------------- */

/* Dimensions are those of a built iterator, fastest first. */
int64_t st__iter_num_output_elements(const st_iter *it);
int st__iter_num_reduce_dims(const st_iter *it);
bool st__iter_can_use_32bit(const st_iter *it);
/* The dimension with the largest extent in bytes in any operand; -1 if no
 * dimension has two elements. */
int st__iter_dim_to_split(const st_iter *it);

/* Narrows a dimension to size >= 1 indices from start. A dimension of size 1 is
 * dropped, except in a reduction. */
void st__iter_narrow(st_iter *it, int dim, int64_t start, int64_t size);
/* *to becomes an independent built iterator. The caller releases it, also after
 * a failure. */
st_status st__iter_copy(const st_iter *from, st_iter *to);
/* *first becomes the first half of a dimension of size 2 or more, and `it` the
 * second half (Note [Splitting a reduction]). The caller releases *first, also
 * after a failure. */
st_status st__iter_split(st_iter *it, int dim, st_iter *first);

/* The operands after it move up. */
void st__iter_remove_operand(st_iter *it, int i);
/* Sets the data pointer of operand i; its strides stay. */
void st__iter_replace_data(st_iter *it, int i, char *data);

/* -- Type promotion ------------------------------------------------------- */

/* ATen's result_type over tensors (dimensioned, 0-dim, wrapped numbers). */
st_promotion st__result_type(st_tensor *const *tensors, int n);

#endif
