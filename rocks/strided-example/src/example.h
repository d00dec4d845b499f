/* Declarations shared by the files of this module. */
#ifndef STRIDED_EXAMPLE_H
#define STRIDED_EXAMPLE_H

#include <strided.h>

/* operators.c: the namespace `example`. */
st_status example_register_operators(void);
/* device.c: the device PrivateUse1, named "example". */
st_status example_register_device(void);
int64_t example_live_blocks(void); /* allocated on the device */
int64_t example_loops(void);       /* that have run there */
/* The address of a place on the device or on the CPU. */
char *example_address(const st_place *p);
/* expression.c: functions of the device (st_backend). */
st_status example_compile(void *ctx, const st_expression *e, void **code);
st_status example_run(void *ctx, int device, void *code, const st_plan *plan,
                      const st_scalar *params);
void example_release_code(void *ctx, void *code);
/* layout.c: the layout "example_coo" and its operators. */
st_status example_register_layout(void);

/* -- Arguments ------------------------------------------------------------ */

/* The values borrow their tensors and arrays. */
static inline st_value of_tensor(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}
static inline st_value of_int(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
static inline st_value of_ints(const int64_t *p, int n) {
  return (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
}
static inline st_value of_float(double f) {
  return (st_value){.tag = ST_TAG_FLOAT, .u.f = f};
}

/* Calls an operator whose result is one tensor, which the caller owns. Code
 * that is called often should look the operator up once and keep the handle,
 * which is valid for the life of the process. */
static inline st_status call1(const char *name, const char *overload, int n,
                              const st_value *args, st_tensor **out) {
  st_value ret;
  const st_status status = st_call_op(st_op_find(name, overload), n, args,
                                      &ret);
  if (status == ST_OK) *out = ret.u.tensor;
  return status;
}

#define TRY(e) do {                              \
    const st_status try_ = (e);                  \
    if (try_ != ST_OK) return try_;              \
  } while (0)

#endif
