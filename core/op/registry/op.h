/* Operators: one meta function and one implementation serve the functional,
 * the in-place and the out= variant of an operator (Z1 to Z6).
 *
 * Note [A structured run]
 * st__structured is the boxed kernel of every structured operator, on CPU, on
 * Meta and on the backends of extensions. It makes a st_run, calls the row's
 * meta, which checks everything and decides the outputs, either through r->it
 * or by st__set_output, and then, except on Meta, the row's impl, which
 * chooses its loop and runs it. A failure leaves outputs untouched: impl may
 * fail only before it writes.
 */
#ifndef ST_OP_REGISTRY_OP_H
#define ST_OP_REGISTRY_OP_H

#include "dispatch/dispatch.h"
#include "iter/copy.h"

/* The head of a boxed kernel, where it is declared and where it is defined.
 * Most have no use for call. */
#define ST_BOXED(name)                                               \
  st_status name(__attribute__((unused)) const st_call *call,        \
                 const st_value *args, st_value *rets)

typedef enum st_variant { ST_FUNCTIONAL, ST_INPLACE, ST_OUT } st_variant;

typedef struct st_op_row st_op_row;

struct st_run {
  const st_op_row *row;
  const st_call *call;
  const st_value *args;           /* of the functional schema */
  st_variant variant;
  st_device device;               /* where outputs are made */
  bool is_meta;
  bool has_iter;                  /* meta made r->it */
  int nouts;
  st_tensor *given[ST_MAX_OUTS];  /* borrowed; in-place and out= */
  st_tensor *out[ST_MAX_OUTS];    /* owned; what impl writes */
  bool proxied[ST_MAX_OUTS];      /* out is a proxy, copied back (Z2) */
  int nheld;
  st_tensor *held[ST_MAX_OUTS];   /* owned; what the iterator borrows */
  st_iter it;
  int64_t note[ST_RUN_NOTE];      /* what meta tells impl, if anything */
};

typedef enum st_op_kind {
  ST_KIND_STRUCTURED, /* meta + impl on CPU, meta on Meta */
  ST_KIND_POINTWISE,  /* structured, with the generic meta and impl */
  ST_KIND_VIEW,       /* CompositeExplicitAutograd, shares its input's bytes */
  ST_KIND_EXPLICIT,   /* CompositeExplicitAutograd: touches no element */
  ST_KIND_COMPOSITE,  /* CompositeImplicitAutograd: made of operators */
  ST_KIND_DATA,       /* CPU and Meta: touches elements */
  ST_KIND_NATIVE,     /* CPU only */
  ST_KIND_FACTORY     /* CPU and Meta, behind BackendSelect */
} st_op_kind;

/* Which variants a structured row has. */
enum { ST_F = 0, ST_FI = 1, ST_FO = 2, ST_FIO = 3 };

struct st_op_row {
  st_op_kind kind;
  const char *schema;        /* without the namespace */
  int variants;
  const char *out_overload;  /* "out", "Tensor_out", ... or NULL */
  st_run_fn meta, impl;      /* structured */
  uint32_t iter_flags;       /* pointwise: the iterator's preset */
  st_kernel_id kernel;       /* pointwise and reductions */
  st_kernel_fn fn;           /* the other kinds */
  const char *doc;
  const char *what;          /* its kind of kernel, for dumps */
};

extern const st_op_row st__op_rows[];

/* Operators by row, for calls from C: ST_OP_add_Tensor. The in-place and
 * out= variants of structured rows through st__op_variant. */
typedef enum st_op_id {
#define ST_STRUCTURED(id, ...) ST_OP_##id,
#define ST_POINTWISE(id, ...)  ST_OP_##id,
#define ST_VIEW(id, ...)       ST_OP_##id,
#define ST_EXPLICIT(id, ...)   ST_OP_##id,
#define ST_COMPOSITE(id, ...)  ST_OP_##id,
#define ST_DATA(id, ...)       ST_OP_##id,
#define ST_NATIVE(id, ...)     ST_OP_##id,
#define ST_FACTORY(id, ...)    ST_OP_##id,
#include "ops.def"
#undef ST_STRUCTURED
#undef ST_POINTWISE
#undef ST_VIEW
#undef ST_EXPLICIT
#undef ST_COMPOSITE
#undef ST_DATA
#undef ST_NATIVE
#undef ST_FACTORY
  ST_OP_COUNT
} st_op_id;

const st_op *st__op(st_op_id id);
const st_op *st__op_variant(st_op_id id, st_variant variant);

/* The kernel that op's row names; ST_K_NONE for the other operators. */
st_kernel_id st__op_kernel(const st_op *op);

/* Registers every row under aten::, once per process. */
st_status st__register_operators(void);

/* Calls operator id with the first n arguments given, the rest defaults. */
st_status st__invoke(st_op_id id, int n, const st_value *args,
                     st_value *rets);
/* The same for an operator with one tensor result. */
st_status st__invoke1(st_op_id id, int n, const st_value *args,
                      st_tensor **out);

/* -- For boxed kernels ---------------------------------------------------- */

static inline const st_tensor *st__self_of(const st_value *args) {
  return st__to_tensor(&args[0]);
}

/* self once more, as the result of an in-place operator is. */
static inline st_status st__return_self(const st_value *args,
                                        st_value *rets) {
  return st__value_copy(&args[0], rets);
}

/* -- For metas ------------------------------------------------------------ */

/* Argument i of the functional schema. */
static inline st_tensor *st__arg_tensor(const st_run *r, int i) {
  return st__to_tensor(&r->args[i]);
}

/* Output i has this shape and dtype. strides NULL: any layout will do, a new
 * tensor is contiguous (set_output_raw_strided). Once per output. OVERLAP
 * when a given tensor overlaps itself or another output; when it shares memory
 * with an input, other than being the same elements in the same order, impl
 * gets a proxy. */
st_status st__set_output(st_run *r, int i, int ndim, const int64_t *sizes,
                         const int64_t *strides, st_dtype dtype);
/* impl needs exactly these strides: it gets a proxy if out= or self has
 * others (Z2, Z6). */
st_status st__set_output_strided(st_run *r, int i, int ndim,
                                 const int64_t *sizes,
                                 const int64_t *strides, st_dtype dtype);
/* For an output that is set and an impl that reads `in` out of order: not even
 * the same elements may be read and written, so there impl gets a proxy, too.
 * in may be NULL. */
st_status st__forbid_alias(st_run *r, int i, const st_tensor *in);
/* Starts r->it with the run's outputs as given (NULL for functional) and
 * dtype for those to be made; the caller adds inputs and builds. */
void st__run_iter(st_run *r, uint32_t flags, st_dtype dtype);
st_status st__run_iter_build(st_run *r);

/* BAD_DTYPE: "not implemented for dtype ..." */
st_status st__no_kernel_for(st_dtype dtype);
/* The row's kernel for dtype, or that failure. */
st_status st__find_kernel(st_kernel_id id, st_dtype dtype, st_loop *out);

/* The boxed kernel of structured rows; call->ctx is a st_structured_ctx. */
st_status st__structured(const st_call *call, const st_value *args,
                         st_value *rets);

/* A kernel for device may be handed tensors of devices below only: Note
 * [Memory of extension devices]. BAD_VALUE names the one that is elsewhere. */
st_status st__check_devices(const st_call *call, const st_value *args,
                            st_device device);

/* -- Extensions ----------------------------------------------------------- */

/* See strided.h. */
st_status st__library_structured(st_library *lib, const st_structured *s);
void *st__run_ctx(const st_run *r);

#endif
