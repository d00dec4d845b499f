/* Structured operators: one meta function and one implementation serve the
 * functional, the in-place and the out= variant of an operator (Z1 to Z6).
 *
 * Note [A structured run]
 * st__structured is the boxed kernel of every structured operator, on CPU, on
 * Meta and on the backends of extensions. It fills a st_run and calls the
 * row's meta, which checks the arguments and sets the outputs, either through
 * r->it or by st__set_output. Except on Meta it then calls the row's impl,
 * which selects a loop and runs it; in a dry run it does so on Meta, too, and
 * the loop is reported instead (Note [Captured loops]). A failure leaves the
 * outputs unchanged, so impl may fail only before it writes.
 *
 * Note [The dtype of out=]
 * A result is written to an out= tensor of another dtype if its dtype can be
 * cast to that one (P3). Pointwise rows leave this to the iterator. The meta
 * of another row sets casts_out; impl then gets a proxy of the result's dtype.
 * Results that are copies of elements or positions (sort, argmax, gather) need
 * an out= of their own dtype, as in ATen.
 */
#ifndef ST_OP_ROW_OP_H
#define ST_OP_ROW_OP_H

#include "dispatch/args.h"
#include "dispatch/dispatch.h"
#include "iter/copy.h"

/* The signature of a boxed kernel, for its declaration and its definition.
 * Most kernels do not use call. */
#define ST_BOXED(name)                                               \
  st_status name(__attribute__((unused)) const st_call *call,        \
                 const st_value *args, st_value *rets)

/* A boxed kernel that is another function of its arguments: function(...,
 * rets). */
#define ST_BOXED_AS(name, function, ...) \
  ST_BOXED(name) { return function(__VA_ARGS__, rets); }

typedef enum st_variant { ST_FUNCTIONAL, ST_INPLACE, ST_OUT } st_variant;

typedef struct st_op_row st_op_row;

struct st_run {
  const st_op_row *row;
  const st_call *call;
  const st_value *args;           /* of the functional schema */
  st_variant variant;
  st_device device;               /* of new outputs */
  bool is_meta;
  bool has_iter;                  /* meta initialized it */
  int nouts;
  st_tensor *given[ST_MAX_OUTS];  /* borrowed; in-place and out= */
  st_tensor *out[ST_MAX_OUTS];    /* owned; what impl writes */
  bool proxied[ST_MAX_OUTS];      /* out is a proxy, copied back (Z2) */
  bool casts_out;                 /* set by meta: Note [The dtype of out=] */
  int nheld;
  st_tensor *held[ST_MAX_OUTS];   /* owned; borrowed by the iterator */
  st_iter it;
  int64_t note[ST_RUN_NOTE];      /* values that meta passes to impl */
};

typedef enum st_op_kind {
  ST_KIND_STRUCTURED, /* meta + impl on CPU, meta on Meta */
  ST_KIND_POINTWISE,  /* structured, with the generic meta and impl */
  ST_KIND_VIEW,       /* CompositeExplicitAutograd: returns views */
  ST_KIND_EXPLICIT,   /* CompositeExplicitAutograd: a kernel for all backends */
  ST_KIND_COMPOSITE,  /* CompositeImplicitAutograd: calls operators */
  ST_KIND_ALIAS,      /* the same: calls one operator */
  ST_KIND_VIEW_COPY,  /* the same: copies what a view operator returns */
  ST_KIND_DATA,       /* CPU and Meta, which check the devices of tensors */
  ST_KIND_NATIVE,     /* CPU only */
  ST_KIND_FACTORY     /* CPU and Meta, behind BackendSelect */
} st_op_kind;

/* The variants that are derived from a row. ST_CAST_OUT: out= of a composed row
 * may have any dtype that the result can be cast to. */
enum { ST_F = 0, ST_FI = 1, ST_FO = 2, ST_FIO = 3, ST_CAST_OUT = 4 };

/* A tag for the engine only: the shape of the result depends on the rank, or on
 * which sizes are 1, and may be that of self. */
enum { ST_OPTAG_SHAPE_BY_ONES = 1 << 16 };

struct st_op_row {
  st_op_kind kind;
  int variants;
  st_run_fn meta, impl;      /* structured */
  uint32_t iter_flags;       /* pointwise: the iterator preset */
  st_kernel_id kernel;       /* pointwise and reductions */
  st_kernel_fn fn;           /* the other kinds */
  int target;                /* ST_ALIAS, ST_MAKE_OUT, ST_COPY_OUT,
                                ST_VIEW_COPY: a st_op_id */
  const char *what;          /* describes the kernel in dumps */
};

/* Operators by row, for calls from C: ST_OP_add_Tensor. st__op_variant
 * returns the in-place and out= variants of structured rows. */
typedef enum st_op_id {
#define ST_STRUCTURED(id, ...) ST_OP_##id,
#define ST_POINTWISE(id, ...)  ST_OP_##id,
#define ST_VIEW(id, ...)       ST_OP_##id,
#define ST_EXPLICIT(id, ...)   ST_OP_##id,
#define ST_COMPOSITE(id, ...)  ST_OP_##id,
#define ST_COMPOSED(id, ...)   ST_OP_##id,
#define ST_ALIAS(id, ...)      ST_OP_##id,
#define ST_MAKE_OUT(id, ...)   ST_OP_##id,
#define ST_COPY_OUT(id, ...)   ST_OP_##id,
#define ST_VIEW_COPY(id, ...)  ST_OP_##id,
#define ST_DATA(id, ...)       ST_OP_##id,
#define ST_NATIVE(id, ...)     ST_OP_##id,
#define ST_FACTORY(id, ...)    ST_OP_##id,
#include "ops.def"
  ST_OP_COUNT
} st_op_id;

/* The functions that the rows name. */
#define ST_STRUCTURED(id, schema, variants, out, meta, impl, kernel, doc) \
  st_status meta(st_run *r);                                              \
  st_status impl(st_run *r);
#define ST_POINTWISE(id, ...)
#define ST_VIEW(id, schema, fn, doc)      ST_BOXED(fn);
#define ST_EXPLICIT(id, schema, fn, doc)  ST_BOXED(fn);
#define ST_COMPOSITE(id, schema, fn, doc) ST_BOXED(fn);
#define ST_COMPOSED(id, schema, variants, out, fn, doc) ST_BOXED(fn);
#define ST_ALIAS(id, ...)
#define ST_MAKE_OUT(id, ...)
#define ST_COPY_OUT(id, ...)
#define ST_VIEW_COPY(id, ...)
#define ST_DATA(id, schema, fn, doc)      ST_BOXED(fn);
#define ST_NATIVE(id, schema, fn, doc)    ST_BOXED(fn);
#define ST_FACTORY(id, schema, fn, doc)   ST_BOXED(fn);
#include "ops.def"

/* Makes op the variant of row id: the table does it, once per process. */
void st__set_op(st_op_id id, st_variant variant, const st_op_row *row,
                const st_op *op);
const st_op_row *st__op_row(st_op_id id);
const st_op *st__op(st_op_id id);
const st_op *st__op_variant(st_op_id id, st_variant variant);

/* The kernel in op's row; ST_K_NONE for an operator without a row. */
st_kernel_id st__op_kernel(const st_op *op);

/* Calls operator id with n arguments; the other arguments are defaults. */
static inline st_status st__invoke(st_op_id id, int n, const st_value *args,
                                   st_value *rets) {
  return st__call_n(st__op(id), n, args, rets);
}
/* The same for an operator with one tensor result. */
static inline st_status st__invoke1(st_op_id id, int n, const st_value *args,
                                    st_tensor **out) {
  st_value ret;
  ST_TRY(st__invoke(id, n, args, &ret));
  *out = ret.u.tensor;
  return ST_OK;
}

/* -- For boxed kernels ---------------------------------------------------- */

/* Returns an argument, as in-place operators do. */
static inline st_status st__return_tensor(const st_tensor *t,
                                          st_value *rets) {
  const st_value v = st__of_tensor(t);
  return st__value_copy(&v, rets);
}

/* -- For metas ------------------------------------------------------------ */

/* Argument i of the functional schema. */
static inline st_tensor *st__arg_tensor(const st_run *r, int i) {
  return st__to_tensor(&r->args[i]);
}
/* The argument `int base` of an operator that has it. */
int64_t st__arg_base(const st_run *r);

/* Sets the shape and dtype of output i, once per output. With strides NULL
 * impl accepts any layout, and a new tensor is contiguous
 * (set_output_raw_strided). OVERLAP when a given tensor overlaps itself or
 * another output. When it shares memory with an input, and is not the same
 * elements in the same order, impl gets a proxy. */
st_status st__set_output(st_run *r, int i, int ndim, const int64_t *sizes,
                         const int64_t *strides, st_dtype dtype);
/* BAD_DTYPE unless a result of this dtype may be written to out: Note [The
 * dtype of out=]. */
st_status st__check_castable(st_dtype result, const st_tensor *out);
/* For an impl that does not read `in` in the order in which it writes output
 * i, which must be set: makes impl write to a proxy if they share any memory,
 * also as the same elements in the same order. in may be NULL. */
st_status st__forbid_alias(st_run *r, int i, const st_tensor *in);
/* For an impl that may fail after it has written output i, which must be set:
 * makes it write to a proxy with the same strides. */
st_status st__write_apart(st_run *r, int i);
/* Initializes r->it with the given outputs (NULL in a functional call) and
 * dtype for the new ones. The caller adds inputs and builds. */
void st__run_iter(st_run *r, uint32_t flags, st_dtype dtype);
st_status st__run_iter_build(st_run *r);

/* BAD_DTYPE: "not implemented for dtype ..." */
st_status st__no_kernel_for(st_dtype dtype);
/* The loop of kernel id for dtype. Fails as st__no_kernel_for. */
st_status st__find_kernel(st_kernel_id id, st_dtype dtype, st_loop *out);
st_status st__find_task(st_kernel_id id, st_dtype dtype, st_task *out);

/* The boxed kernel of structured rows; call->ctx is a st_structured_ctx. */
st_status st__structured(const st_call *call, const st_value *args,
                         st_value *rets);
/* The same without a direct call. */
st_status st__run_structured(const st_call *call, const st_value *args,
                             st_value *rets);

/* True for the index tensors of an indexing operator, which may be on the CPU
 * while the indexed tensor is on the device of an extension. */
bool st__is_index_list(const st_arg *arg);
/* Checks that each tensor argument of a kernel for device can be used by it: it
 * is on that device; for Meta, or on the CPU; for the device of an extension,
 * or on the CPU and 0-dim, and not written, or an index. BAD_VALUE names the
 * argument that cannot: Note [Memory of extension devices]. */
st_status st__check_devices(const st_call *call, const st_value *args,
                            st_device device);

#endif
