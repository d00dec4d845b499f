/* Graph lowering: runs the nodes on fake tensors and turns the captured loops
 * into IR (Note [Fake tensors of a graph]).
 */

#include "fuse/ir/lower_graph.h"

#include <string.h>

#include "grad/engine/engine.h"
#include "iter/loop_report.h"
#include "op/row/op.h"

enum { MAX_STORAGES = 2048 };

/* The value in a storage. The storage is retained, so that no new one gets its
 * address. */
typedef struct storage_value {
  st_storage *storage;
  int value;
  int at;              /* nodes called when it was written */
  int ndim;            /* of the tensor that was written */
  int64_t numel;
} storage_value;

typedef struct builder {
  st_capture capture;  /* first */
  st_ir *code;
  st_status status;    /* of the first failure */
  char message[256];   /* of the first failure */
  bool skips_sums;     /* a sum's result is its operand: the caller sums */
  int at;              /* nodes called so far */
  int n;
  storage_value list[MAX_STORAGES];
} builder;

/* -- Failures ------------------------------------------------------------- */

static void fail_with(builder *b, st_status status) {
  if (status == ST_OK || b->status != ST_OK) return;
  b->status = status;
  snprintf(b->message, sizeof b->message, "%s", st_message());
}

static void refuse(builder *b, const char *why) {
  if (b->status != ST_OK) return;
  b->status = ST_BAD_STATE;
  snprintf(b->message, sizeof b->message, "%s", why);
}

static const char NOT_POINTWISE[] = "is not pointwise";

/* -- Lazy tensors --------------------------------------------------------- */

static int applied(builder *b, st_kernel_id id, int value) {
  const st_dtype d = (st_dtype)b->code->values[value].dtype;
  const st_ir_call x = {.loop = st__kernel(id, d), .kernel = {id, d},
                        .grain = st__kernel_grain(id), .nin = 1, .nout = 1,
                        .in = {value}, .dtypes = {d}};
  int out[ST_INSTR_OPERANDS] = {-1};
  fail_with(b, st__ir_instr(b->code, &x, out));
  return b->status == ST_OK ? out[0] : -1;
}

/* Turns what is in memory at t into the elements of t, or back: each lazy key
 * is its own inverse. */
static int with_marks(builder *b, const st_tensor *t, int value) {
  if (value >= 0 && st__is_conj(t)) {
    value = applied(b, ST_K_conj_physical, value);
  }
  return value >= 0 && st__is_neg(t) ? applied(b, ST_K_neg, value) : value;
}

/* -- Storages ------------------------------------------------------------- */

static storage_value *find(builder *b, const st_tensor *t) {
  for (int i = b->n - 1; i >= 0; i--) {
    if (b->list[i].storage == t->storage) return &b->list[i];
  }
  return NULL;
}

static void write_value(builder *b, const st_tensor *t, int value) {
  storage_value *k = find(b, t);
  value = with_marks(b, t, value);
  if (value < 0) return;
  if (!k && b->n == MAX_STORAGES) {
    refuse(b, "is one call more than can be fused");
    return;
  }
  if (!k) {
    k = &b->list[b->n++];
    k->storage = t->storage;
    st__storage_retain(t->storage);
  }
  k->value = value;
  k->at = b->at;
  k->ndim = t->ndim;
  k->numel = t->numel;
}

static bool is_one_element(const st_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    if (t->sizes[d] != 1 && t->strides[d] != 0) return false;
  }
  return true;
}

/* True if t has the geometry that k was written with. */
static bool is_whole(const storage_value *k, const st_tensor *t) {
  if (t->offset != 0) return false;
  if (k->numel == 1) return is_one_element(t);
  return t->numel == k->numel && st__is_contiguous(t);
}

/* The value of what is in memory at t; -1 after a refusal. */
static int read_memory(builder *b, const st_tensor *t) {
  int value = -1;
  char bytes[16];
  if (!st__is_meta(t)) {
    if (t->numel != 1 || !st__data(t)) {
      refuse(b, NOT_POINTWISE);
      return -1;
    }
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, st__data(t), st__itemsize(t->dtype));
    fail_with(b, st__ir_const(b->code, t->dtype, bytes, &value));
    return value;
  }
  const storage_value *k = find(b, t);
  if (k && is_whole(k, t) && b->code->values[k->value].dtype == t->dtype) {
    return k->value;
  }
  refuse(b, NOT_POINTWISE);
  return -1;
}

/* The value of t; -1 after a refusal. */
static int read_value(builder *b, const st_tensor *t) {
  return with_marks(b, t, read_memory(b, t));
}

static int converted(builder *b, int value, st_dtype dtype) {
  int out = -1;
  if (value < 0) return -1;
  fail_with(b, st__ir_convert(b->code, value, dtype, &out));
  return out;
}

/* -- Captured loops ------------------------------------------------------- */

static const st_tensor *tensor_of(const st_iter_operand *op) {
  return op->original && op->is_output ? op->original : op->tensor;
}

static void on_map(st_capture *c, const st_iter *it, st_loop loop,
                   const st_params *params, int64_t grain) {
  builder *b = (builder *)c;
  int out[ST_INSTR_OPERANDS];
  const int nout = it->noutputs;
  st_ir_call x = {.loop = loop, .kernel = it->kernel, .params = params,
                  .grain = grain, .nin = it->noperands - nout, .nout = nout};
  if (!loop || it->noperands > ST_INSTR_OPERANDS) {
    refuse(b, NOT_POINTWISE);
    return;
  }
  for (int i = 0; i < x.nin && b->status == ST_OK; i++) {
    const st_iter_operand *op = &it->op[nout + i];
    x.in[i] = converted(b, read_value(b, op->tensor), op->target);
  }
  for (int i = 0; i < nout; i++) x.dtypes[i] = it->op[i].target;
  if (b->status != ST_OK) return;
  fail_with(b, st__ir_instr(b->code, &x, out));
  for (int i = 0; i < nout && b->status == ST_OK; i++) {
    const st_tensor *t = tensor_of(&it->op[i]);
    const int v = converted(b, out[i], t->dtype);
    if (v >= 0) write_value(b, t, v);
  }
}

static void on_copy(st_capture *c, const st_tensor *dst,
                    const st_tensor *src) {
  builder *b = (builder *)c;
  if (b->status != ST_OK) return;
  const int v = converted(b, read_value(b, src), dst->dtype);
  if (v >= 0) write_value(b, dst, v);
}

static void on_fill(st_capture *c, const st_tensor *dst, st_scalar value) {
  builder *b = (builder *)c;
  char bytes[16] = {0};
  int v = -1;
  if (b->status != ST_OK) return;
  st__scalar_store(value, dst->dtype, bytes);
  fail_with(b, st__ir_const(b->code, dst->dtype, bytes, &v));
  if (v >= 0) write_value(b, dst, v);
}

static void on_reduce(st_capture *c, const st_tensor *out,
                      const st_tensor *self, st_kernel_id kernel) {
  builder *b = (builder *)c;
  if (!b->skips_sums || kernel != ST_K_sum) return;
  const int v = converted(b, read_value(b, self), out->dtype);
  if (v >= 0) write_value(b, out, v);
}

static void on_divide(st_capture *c, const st_iter *it, int i) {
  builder *b = (builder *)c;
  if (b->status != ST_OK) return;
  const st_iter_operand *op = &it->op[i];
  const int v = converted(b, read_value(b, op->tensor), op->target);
  if (v >= 0) fail_with(b, st__ir_check(b->code, v));
}

static void on_read(st_capture *c, const st_tensor *t) {
  (void)t;
  refuse((builder *)c, "looks at elements of a tensor when it is called");
}

static st_status new_builder(bool skips_sums, builder **out) {
  builder *b = st__alloc(ST_MEM_SCRATCH, sizeof *b);
  if (!b) return ST_NO_MEMORY;
  b->capture = (st_capture){
    .map = on_map, .copy = on_copy, .fill = on_fill, .reduce = on_reduce,
    .divide = on_divide, .read = on_read};
  b->status = ST_OK;
  b->skips_sums = skips_sums;
  b->at = 0;
  b->n = 0;
  const st_status status = st__ir_new(&b->code);
  if (status != ST_OK) st__free(ST_MEM_SCRATCH, b, sizeof *b);
  else *out = b;
  return status;
}

static void free_builder(builder *b) {
  if (!b) return;
  for (int i = 0; i < b->n; i++) st__storage_release(&b->list[i].storage);
  st__ir_free(&b->code);
  st__free(ST_MEM_SCRATCH, b, sizeof *b);
}

/* -- Unobserved calls ----------------------------------------------------- */

typedef struct thread_state {
  st_isolated dispatch;
  bool muted, missed;
  st_capture *capture;
} thread_state;

static thread_state isolate_thread(builder *b, bool grad) {
  const thread_state o = {st__isolate(), st__mute(true), st__set_missed(false),
                          st__set_capture(&b->capture)};
  st_tls tls = st__tls();
  tls.grad = grad;
  if (!grad) tls.excluded |= ST_AUTOGRAD_BITS;
  st__set_tls(tls);
  return o;
}

static void restore_thread(const thread_state *o) {
  st__end_isolation(&o->dispatch);
  st__mute(o->muted);
  st__set_missed(o->missed);
  st__set_capture(o->capture);
}

/* -- Fake tensors --------------------------------------------------------- */

/* The sizes of fake tensors with dimensions: two primes, so that a result of
 * this shape has it from its operands. */
static const int64_t SHAPE[] = {7919, 104729};

typedef struct fakes {
  st_tensor *in[ST_GRAPH_INPUTS], *out[ST_GRAPH_OUTPUTS];
  st_tensor *grad[ST_GRAPH_OUTPUTS], *result[ST_GRAPH_INPUTS];
} fakes;

static st_status new_fake(builder *b, st_arg_spec c, st_tensor **out) {
  int value;
  ST_TRY(st__tensor_empty(ST_DEVICE_META, c.dtype,
                          c.is_0dim ? 0 : 2, SHAPE, ST_FORMAT_CONTIGUOUS,
                          out));
  if (c.is_wrapped) (*out)->flags |= ST_FLAG_WRAPPED;
  ST_TRY(st__ir_input(b->code, c.dtype, c.is_0dim, &value));
  write_value(b, *out, value);
  return ST_OK;
}

static void release_all(int n, st_tensor **list) {
  for (int i = 0; i < n; i++) st__tensor_release(&list[i]);
}

static void free_fakes(fakes *s) {
  release_all(ST_GRAPH_INPUTS, s->in);
  release_all(ST_GRAPH_OUTPUTS, s->out);
  release_all(ST_GRAPH_OUTPUTS, s->grad);
  release_all(ST_GRAPH_INPUTS, s->result);
}

typedef struct progress { builder *b; const st_graph_node *at; } progress;

static bool has_fake_shape(const st_tensor *t) {
  return t->ndim == 0 || (t->ndim == 2 && t->sizes[0] == SHAPE[0] &&
                          t->sizes[1] == SHAPE[1]);
}

/* Refuses what has looked for elements (Note [Elements that are not there]):
 * with elements it may call something else, or fail. */
static void check_missed(builder *b) {
  if (st__set_missed(false)) {
    refuse(b, "looks at elements of a tensor when it is called");
  }
}

/* Refuses a result that is not pointwise as soon as its node has run, so that
 * the message names this node and not a later reader. The result must have the
 * shape of the fake tensors, no size of which is 1, and an in-place node must
 * have run a captured loop. */
static void check_result(builder *b, const st_graph_node *n,
                         const st_tensor *t) {
  read_value(b, t);
  const storage_value *k = find(b, t);
  const bool is_unseen = n->written >= 0 && k && k->at != b->at;
  const bool depends_on_ones = st__op_tags(n->op) & ST_OPTAG_SHAPE_BY_ONES;
  if (!has_fake_shape(t) || is_unseen || depends_on_ones) {
    refuse(b, NOT_POINTWISE);
  }
}

static st_status check_node(void *ctx, const st_graph_node *n,
                            st_tensor *const *results) {
  progress *p = ctx;
  p->at = n;
  if (!results) p->b->at++;
  for (int i = 0; results && i < n->nresults; i++) {
    if (results[i]) check_result(p->b, n, results[i]);
  }
  check_missed(p->b);
  return p->b->status;
}

/* "f: 'sum' (file:3) is not pointwise" */
static st_status add_error_context(const builder *b, const st_graph *g,
                                   const st_graph_node *at) {
  const char *name = st_op_name(at->op), *local = strstr(name, "::");
  const bool has_where = *at->where != 0;
  char prefix[256];
  snprintf(prefix, sizeof prefix, "%s: '%s'%s%s%s", g->name,
           local ? local + 2 : name, has_where ? " (" : "", at->where,
           has_where ? ")" : "");
  if (b->status != ST_OK) {
    return st__fail(b->status, "%s %s", prefix, b->message);
  }
  st__prefix_message(prefix);
  return ST_OK;
}

/* Runs the graph on fake tensors. A failure names the operator and where it is
 * called. */
static st_status run_fakes(builder *b, const st_graph *g, fakes *s,
                           const st_scalar *params) {
  progress p = {b, NULL};
  const st_status status = st__graph_run(g, s->in, params, s->out,
                                         check_node, &p);
  if (p.at && (status != ST_OK || b->status != ST_OK)) {
    ST_TRY(add_error_context(b, g, p.at));
  }
  return status;
}

/* -- Outputs -------------------------------------------------------------- */

static st_status add_output(builder *b, const st_tensor *t, int dtype) {
  int v = read_value(b, t);
  if (dtype != ST_DTYPE_NONE && !st_can_cast(t->dtype, (st_dtype)dtype)) {
    return st__fail(ST_BAD_DTYPE, "the result has dtype %s, which an output "
                    "of dtype %s cannot hold",
                    st__dtype_name(t->dtype),
                    st__dtype_name((st_dtype)dtype));
  }
  if (v >= 0 && dtype != ST_DTYPE_NONE) v = converted(b, v, (st_dtype)dtype);
  if (v < 0) return st__fail(b->status, "%s", b->message);
  b->code->outputs[b->code->noutputs++] = v;
  return ST_OK;
}

static st_status lower(builder *b, const st_graph *g,
                       const st_arg_spec *inputs, const st_scalar *params,
                       const uint8_t *out_dtypes, fakes *s) {
  for (int i = 0; i < g->ninputs; i++) {
    ST_TRY(new_fake(b, inputs[i], &s->in[i]));
  }
  ST_TRY(run_fakes(b, g, s, params));
  for (int i = 0; i < g->noutputs; i++) {
    ST_TRY(add_output(b, s->out[i], out_dtypes ? out_dtypes[i]
                                               : ST_DTYPE_NONE));
  }
  return ST_OK;
}

/* Makes the IR; *out is to be freed, also after a failure. */
static st_status lower_isolated(const st_graph *g, const st_arg_spec *inputs,
                                const st_scalar *params,
                                const uint8_t *out_dtypes, builder **out) {
  fakes s = {{NULL}, {NULL}, {NULL}, {NULL}};
  ST_TRY(new_builder(false, out));
  const thread_state o = isolate_thread(*out, false);
  const st_status status = lower(*out, g, inputs, params, out_dtypes, &s);
  free_fakes(&s);
  restore_thread(&o);
  return status;
}

st_status st__lower_graph(const st_graph *g, const st_arg_spec *inputs,
                          const st_scalar *params,
                          const uint8_t *out_dtypes, st_program **out) {
  builder *b = NULL;
  st_status status = lower_isolated(g, inputs, params, out_dtypes, &b);
  if (status == ST_OK) status = st__ir_lower(b->code, out);
  free_builder(b);
  return status;
}

st_status st__lower_for_float32(const st_graph *g) {
  st_arg_spec inputs[ST_GRAPH_INPUTS];
  st_scalar params[ST_GRAPH_SCALARS];
  st_program *p = NULL;
  for (int i = 0; i < g->ninputs; i++) {
    inputs[i] = (st_arg_spec){.dtype = ST_FLOAT32};
  }
  for (int i = 0; i < g->nparams; i++) params[i] = st__scalar_int(1);
  const st_status status = st__lower_graph(g, inputs, params, NULL, &p);
  st__program_release(&p);
  return status;
}

st_status st__is_pointwise(const st_graph *g, const st_arg_spec *inputs,
                           bool *out, bool *checks) {
  builder *b = NULL;
  const st_status status = lower_isolated(g, inputs, NULL, NULL, &b);
  *out = status == ST_OK;
  *checks = status == ST_OK && b->code->nchecks > 0;
  free_builder(b);
  return status == ST_NO_MEMORY ? status : ST_OK;
}

/* -- Gradients ------------------------------------------------------------ */

/* Makes the fake tensors: those of the outputs' gradients, then those of the
 * inputs. */
static st_status make_fakes(builder *b, const st_graph *g,
                            const st_arg_spec *inputs, const st_arg_spec *grads,
                            uint32_t wanted, fakes *s) {
  for (int i = 0; i < g->noutputs; i++) {
    if (grads[i].dtype == ST_DTYPE_NONE) continue;
    ST_TRY(new_fake(b, grads[i], &s->grad[i]));
  }
  for (int i = 0; i < g->ninputs; i++) {
    ST_TRY(new_fake(b, inputs[i], &s->in[i]));
    if (wanted >> i & 1) ST_TRY(st_tensor_set_requires_grad(s->in[i], true));
  }
  return ST_OK;
}

st_status st__expand_to_grads(int n, st_tensor **outs,
                              st_tensor *const *grads) {
  for (int i = 0; i < n; i++) {
    st_tensor *wide;
    if (!grads[i] || st__same_sizes(outs[i], grads[i])) continue;
    ST_TRY(st__invoke1(
      ST_OP_expand,
      ST_VALUES(outs[i], st__of_ints(grads[i]->sizes, grads[i]->ndim)), &wide));
    st__tensor_release(&outs[i]);
    outs[i] = wide;
  }
  return ST_OK;
}

static st_status run_backward(const st_graph *g, uint32_t wanted, fakes *s) {
  st_tensor *outputs[ST_GRAPH_OUTPUTS], *grads[ST_GRAPH_OUTPUTS];
  st_tensor *inputs[ST_GRAPH_INPUTS], *results[ST_GRAPH_INPUTS] = {NULL};
  st_backward_pass pass = {.outputs = outputs, .grad_outputs = grads,
                           .inputs = inputs, .allow_unused = true};
  ST_TRY(st__expand_to_grads(g->noutputs, s->out, s->grad));
  for (int i = 0; i < g->noutputs; i++) {
    if (!s->grad[i] || !st__requires_grad(s->out[i])) continue;
    outputs[pass.noutputs] = s->out[i];
    grads[pass.noutputs++] = s->grad[i];
  }
  for (int i = 0; i < g->ninputs; i++) {
    if (wanted >> i & 1) inputs[pass.ninputs++] = s->in[i];
  }
  if (pass.noutputs == 0) return ST_OK;
  ST_TRY(st_backward(&pass, results));
  for (int i = 0, k = 0; i < g->ninputs; i++) {
    if (wanted >> i & 1) s->result[i] = results[k++];
  }
  return ST_OK;
}

static st_status lower_gradients(builder *b, const st_graph *g,
                                 const st_gradient_spec *spec,
                                 uint32_t *given, fakes *s) {
  int *last;
  ST_TRY(make_fakes(b, g, spec->inputs, spec->grads, spec->wanted, s));
  ST_TRY(run_fakes(b, g, s, spec->params));
  ST_TRY(run_backward(g, spec->wanted, s));
  check_missed(b);
  *given = 0;
  for (int i = 0; i < g->ninputs; i++) {
    if (!s->result[i]) continue;
    ST_TRY(add_output(b, s->result[i], ST_DTYPE_NONE));
    last = &b->code->outputs[b->code->noutputs - 1];
    if (spec->summed >> i & 1) *last = st__ir_unconverted(b->code, *last);
    *given |= (uint32_t)1 << i;
  }
  if (b->status == ST_OK) return ST_OK;
  return st__fail(b->status, "%s: a gradient %s", g->name, b->message);
}

st_status st__lower_gradients(const st_graph *g, const st_gradient_spec *spec,
                              uint32_t *given, st_program **out) {
  fakes s = {{NULL}, {NULL}, {NULL}, {NULL}};
  builder *b;
  ST_TRY(new_builder(true, &b));
  const thread_state o = isolate_thread(b, true);
  st_status status = lower_gradients(b, g, spec, given, &s);
  free_fakes(&s);
  restore_thread(&o);
  if (status == ST_OK) status = st__ir_lower(b->code, out);
  free_builder(b);
  return status;
}
