/* Schedules: lifetime, execution, and their text.
 */

#include "fuse/schedule/schedule.h"

#include <string.h>

#include "base/text.h"
#include "fuse/trace/recorded_operator.h"
#include "grad/graph/history.h"
#include "op/random/random.h"

/* -- Lifetime ------------------------------------------------------------- */

void st__schedule_retain(st_schedule *s) { st__ref_take(&s->refs); }

void st_schedule_release(st_schedule **steps) {
  st_schedule *s = *steps;
  *steps = NULL;
  if (!s || !st__ref_drop(&s->refs)) return;
  for (int i = 0; i < s->nsteps; i++) {
    st__program_release(&s->steps[i].program);
    st__compiled_release(s->steps[i].compiled);
    for (int k = 0; s->steps[i].like && k < s->steps[i].call.nresults; k++) {
      st__tensor_release(&s->steps[i].like[k]);
    }
  }
  for (int i = 0; i < s->ncaptured; i++) {
    st__tensor_release(&s->captured[i].tensor);
    st__tensor_release(&s->fakes[i].tensor);
  }
  st__arena_free(&s->arena);
  st__free(ST_MEM_REGISTRY, s, sizeof *s);
}

bool st__schedule_is_current(const st_schedule *s) {
  if (s->device > ST_DEVICE_META && s->changes != st__registry_changes()) {
    return false;
  }
  for (int i = 0; i < s->nsteps; i++) {
    const st_graph_node *n = &s->steps[i].call;
    if (n->op && st__op_schema(n->op) != n->schema) return false;
  }
  for (int i = 0; i < s->ncaptured; i++) {
    const st_tensor *a = s->captured[i].tensor, *b = s->fakes[i].tensor;
    if (a->dtype != b->dtype || !st__same_sizes(a, b) ||
        !st__same_dims(a->ndim, a->strides, b->strides)) {
      return false;
    }
  }
  return true;
}

bool st__schedule_derives_same(const st_schedule *s, bool has_gradients) {
  for (int i = 0; i < s->ncaptured; i++) {
    const bool now = has_gradients &&
                     st__requires_grad(s->captured[i].tensor);
    if (now != ((s->fakes[i].tensor->keys & ST_AUTOGRAD_BITS) != 0)) {
      return false;
    }
  }
  return true;
}

/* -- Groups --------------------------------------------------------------- */

static st_status run_backward(void *ctx, st_tensor *const *grads,
                              st_tensor *const *saved, const bool *wanted,
                              st_tensor **inputs) {
  return st__compiled_backward(ctx, saved, NULL, grads, wanted, inputs);
}

/* Records the step as one node (Note [Gradients of fusion groups]). */
static st_status record(const st_schedule_step *step, st_tensor *const *inputs,
                        uint32_t required, st_tensor *const *outs) {
  bool differentiable[ST_GRAPH_OUTPUTS], recorded, any = false;
  for (int i = 0; i < step->nout; i++) {
    differentiable[i] = (step->depends[i] & required) != 0;
    any = any || differentiable[i];
  }
  if (!any) return ST_OK;
  const st_function f = {
    .name = "FusedBackward", .backward = run_backward, .ctx = step->compiled,
    .free_ctx = st__compiled_release, .ninputs = step->nin,
    .noutputs = step->nout, .nsaved = step->nin, .inputs = inputs,
    .outputs = outs, .saved = inputs, .differentiable = differentiable};
  st__compiled_retain(step->compiled);
  const st_status status = st_record(&f, &recorded);
  if (!recorded) st__compiled_release(step->compiled);
  return status;
}

static st_status run_fused(const st_schedule_step *step, st_tensor **values) {
  st_tensor *inputs[ST_GRAPH_INPUTS], *outs[ST_GRAPH_OUTPUTS] = {NULL};
  uint32_t required = 0;
  for (int i = 0; i < step->nin; i++) {
    inputs[i] = values[step->in[i]];
    required |= (uint32_t)st__requires_grad(inputs[i]) << i;
  }
  st_status status = st__program_apply(step->program, inputs, outs);
  if (status == ST_OK && required && st__tls().grad) {
    status = record(step, inputs, required, outs);
  }
  for (int i = 0; i < step->nout; i++) {
    if (status == ST_OK) values[step->out[i]] = outs[i];
    else st__tensor_release(&outs[i]);
  }
  return status;
}

/* -- Calls ---------------------------------------------------------------- */

/* Moves the tensors of one result, a tensor or a list, into values; *at counts
 * the step's outputs. */
static void take_result(const st_schedule_step *step, st_value *ret, int *at,
                        st_tensor **values) {
  const bool is_list = ret->tag == ST_TAG_TENSORS;
  const int n = is_list ? (int)ret->len : 1;
  for (int k = 0; k < n && *at < step->nout; k++, ++*at) {
    st_tensor **from = is_list ? &ret->u.tensors[k] : &ret->u.tensor;
    if (step->out[*at] < 0) continue;
    values[step->out[*at]] = *from;
    if (is_list) *from = NULL;
    else ret->tag = ST_TAG_NONE;
  }
  st__value_clear(ret);
}

/* True if t is what its fake tensor has described; the strides of dimensions
 * without a second element do not matter. */
static bool is_described(const st_tensor *t, const st_tensor *like) {
  if (!t || t->dtype != like->dtype || !st__same_sizes(t, like)) return false;
  for (int d = 0; d < t->ndim && t->numel > 0; d++) {
    if (t->sizes[d] > 1 && t->strides[d] != like->strides[d]) return false;
  }
  return true;
}

/* Note [Composites recorded whole] */
static st_status check_described(const st_schedule *s,
                                 const st_schedule_step *step,
                                 const st_value *rets) {
  const st_graph_node *n = &step->call;
  bool is_same = st__count_results(n->schema, rets) == n->nresults;
  for (int k = 0; k < n->nresults && is_same; k++) {
    is_same = is_described(st__nth_result(rets, k), step->like[k]);
  }
  if (is_same) return ST_OK;
  *s->differs = st_op_name(n->op);
  return st__fail(ST_BAD_STATE, "returned other tensors than when it was "
                  "recorded");
}

static st_status run_call(const st_schedule *s, const st_schedule_step *step,
                          st_tensor **values, st_tensor **lists) {
  st_value args[ST_MAX_ARGS], rets[ST_MAX_ARGS];
  const st_graph_node *n = &step->call;
  int at = 0;
  st__node_args(n, values, lists, args);
  ST_TRY(st__call_boxed(n->op, n->schema, args, rets));
  if (step->like) {
    const st_status status = check_described(s, step, rets);
    for (int i = 0; i < n->schema->nrets && status != ST_OK; i++) {
      st__value_clear(&rets[i]);
    }
    ST_TRY(status);
  }
  for (int i = 0; i < n->schema->nrets; i++) {
    take_result(step, &rets[i], &at, values);
  }
  for (int i = 0; i < step->nout; i++) {
    if (step->out[i] < 0 || values[step->out[i]]) continue;
    return st__fail(ST_BAD_STATE, "returned fewer tensors than when it was "
                    "recorded");
  }
  return ST_OK;
}

/* -- Execution ------------------------------------------------------------ */

static void release_values(const st_schedule *s, st_tensor **values) {
  for (int i = 0; i < s->nsteps; i++) {
    const st_schedule_step *step = &s->steps[i];
    for (int k = 0; k < step->nout; k++) {
      if (step->out[k] >= 0) st__tensor_release(&values[step->out[k]]);
    }
  }
}

static st_status run_all(const st_schedule *s, st_tensor *const *inputs,
                         st_tensor **values, st_tensor **outs) {
  st_status status = ST_OK;
  for (int i = 0; i < s->nargs; i++) values[i] = inputs[i];
  for (int i = 0; i < s->ncaptured; i++) values[s->captured[i].value] =
                                       s->captured[i].tensor;
  for (int i = 0; i < s->nsteps && status == ST_OK; i++) {
    const st_schedule_step *step = &s->steps[i];
    status = step->program ? run_fused(step, values)
                           : run_call(s, step, values, values + s->nvalues);
    for (int k = 0; k < step->nfreed && status == ST_OK; k++) {
      st__tensor_release(&values[step->freed[k]]);
    }
  }
  for (int i = 0; i < s->noutputs && status == ST_OK; i++) {
    outs[i] = values[s->outputs[i]];
    st__tensor_retain(outs[i]);
  }
  release_values(s, values);
  return status;
}

/* The state of the random numbers before a run; NULL is none. */
static st_status save_random(void **state) {
  st_generator *const g = st_default_generator();
  const size_t size = st_generator_state_size(g);
  *state = st__alloc(ST_MEM_SCRATCH, size);
  if (!*state) return ST_NO_MEMORY;
  const st_status status = st_generator_get_state(g, *state, size);
  if (status == ST_OK) return ST_OK;
  st__free(ST_MEM_SCRATCH, *state, size);
  *state = NULL;
  return status;
}

static void end_random(void *state, bool restores) {
  st_generator *const g = st_default_generator();
  const size_t size = st_generator_state_size(g);
  if (restores) st_generator_set_state(g, state, size);
  st__free(ST_MEM_SCRATCH, state, size);
}

/* A failed run has drawn no random numbers: the function, which is called
 * instead, draws them. */
st_status st_schedule_run(const st_schedule *s, st_tensor *const *inputs,
                          st_tensor **outs) {
  st_tensor *small[64], **values = small;
  const size_t n = (size_t)s->nvalues + (size_t)s->max_listed;
  const bool is_large = n > sizeof small / sizeof *small;
  st_status status = ST_NO_MEMORY;
  void *state = NULL;
  if (s->may_fail_later) ST_TRY(save_random(&state));
  if (is_large) values = st__alloc_zero(ST_MEM_SCRATCH, n * sizeof *values);
  else memset(small, 0, n * sizeof *small);
  if (values) status = run_all(s, inputs, values, outs);
  if (is_large && values) st__free(ST_MEM_SCRATCH, values, n * sizeof *values);
  if (state) end_random(state, status != ST_OK);
  return status;
}

/* -- Text ----------------------------------------------------------------- */

/* Appends the program's text, indented. */
static st_status add_program(st_text *t, const st_program *p) {
  char *text;
  ST_TRY(st__program_text(p, &text));
  for (const char *at = text; *at; ) {
    const size_t n = strcspn(at, "\n");
    st__text_puts(t, "  ");
    st__text_add(t, at, n);
    st__text_puts(t, "\n");
    at += n + (at[n] == '\n');
  }
  st__text_free(&text);
  return ST_OK;
}

static st_status add_step(st_text *t, const st_schedule_step *step) {
  const st_graph_node *n = &step->call;
  if (!step->program) {
    st__text_format(t, "call %s%s%s\n", st__recorded_name(n->op),
                    *n->where ? " at " : "", n->where);
    return ST_OK;
  }
  const st_graph *g = step->compiled->graph;
  st__text_format(t, "fusion group of %d:", g->nnodes);
  for (int i = 0; i < g->nnodes; i++) {
    st__text_format(t, " %s", st__recorded_name(g->nodes[i].op));
  }
  st__text_puts(t, "\n");
  return add_program(t, step->program);
}

st_status st_schedule_text(const st_schedule *s, char **out) {
  st_text t = {0};
  st_status status = ST_OK;
  for (int i = 0; i < s->nsteps && status == ST_OK; i++) {
    status = add_step(&t, &s->steps[i]);
  }
  if (s->nsteps == 0) st__text_puts(&t, "nothing\n");
  const st_status finished = st__text_finish(&t, out);
  if (status != ST_OK && finished == ST_OK) st__text_free(out);
  return status != ST_OK ? status : finished;
}
