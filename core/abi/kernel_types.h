/* The part of abi/types.h about kernels: what they get and how they are
 * registered and called. Included by it only, and flattened with it.
 */
#ifndef ST_ABI_KERNEL_TYPES_H
#define ST_ABI_KERNEL_TYPES_H

/* Any C function; the dispatcher casts it to its own type to call it. */
typedef void (*st_unboxed_fn)(void);

/* The call that a kernel runs for. Read only. */
struct st_call {
  const st_op *op;
  const st_schema *schema; /* of this call, even if op is redefined meanwhile */
  st_keyset keys;        /* a kernel redispatches with a subset of them */
  void *ctx;             /* given at registration */
  st_unboxed_fn unboxed; /* NULL, or the kernel behind a boxed adapter */
};

/* A boxed kernel: reads the operator's arguments in schema order and writes
 * its results. On failure it writes no result and returns the status of
 * st_fail. */
typedef st_status (*st_kernel_fn)(const st_call *call, const st_value *args,
                                  st_value *rets);

/* A call of an operator whose kernel was found before: st_shortcut_find. */
typedef bool (*st_shortcut_fn)(const st_call *call, const st_value *args,
                               st_value *rets, st_status *status);
typedef struct st_shortcut {
  uint64_t epoch;        /* of the registry when it was found; 0: never */
  const st_op *op;
  st_call call;          /* of op, or of the operator that it stands for */
  st_shortcut_fn run;    /* NULL: there is none */
  bool is_tracked;       /* it writes an argument or returns a view */
} st_shortcut;

/* A kernel to register. ST_KERNEL makes an unboxed one together with its boxed
 * adapter. */
typedef struct st_kernel {
  st_kernel_fn fn;           /* NULL: fallthrough */
  st_unboxed_fn unboxed;     /* NULL for a boxed kernel */
  const char *signature;     /* the C types of unboxed; static */
  void *ctx;
  void (*free_ctx)(void *);  /* may be NULL; called on any thread, once no
                              * call can run the kernel any more */
  const char *debug;         /* origin, shown in dumps and errors; copied */
} st_kernel;

/* A call of a structured operator in progress; opaque. */
typedef struct st_run st_run;
/* The meta function or the implementation of a structured operator. */
typedef st_status (*st_run_fn)(st_run *run);

enum {
  ST_MAX_OUTS = 4,  /* results of a structured operator */
  ST_RUN_NOTE = 36  /* integers that a meta can pass to the implementation */
};

/* A structured operator: the definition that its functional, in-place and
 * out= variants share (Z1 to Z6). */
typedef struct st_structured {
  const char *schema;    /* functional: "scale(Tensor self) -> Tensor" */
  bool inplace;          /* defines "scale_" too, which writes self */
  const char *out;       /* name of the out= overload, or NULL for none */
  st_run_fn meta, impl;
  void *ctx;             /* returned by st_run_ctx */
  void (*free_ctx)(void *); /* may be NULL; as for a kernel */
  const char *doc, *debug;
  int tags;              /* ST_OPTAG_ bits */
  /* Keys of impl: "CPU", "PrivateUse1" to 3. If empty, "CPU". */
  const char *backends[4];
} st_structured;

/* A typed handle: an operator and the C types of its arguments and results.
 * See "Typed calls" in strided.h. */
typedef struct st_typed {
  const st_op *op;
  const char *signature; /* the registry's copy */
} st_typed;

/* A typed call in progress, filled in by st_route_enter. */
typedef struct st_route {
  st_call call;
  st_kernel_fn fn;
  bool packs;       /* the caller must box the arguments for st_route_run */
  int observed;     /* private to the dispatcher */
} st_route;

#endif
