/* Building a schedule: the groups of calls become steps.
 */

#include <string.h>

#include "fuse/schedule/fusion_group.h"
#include "grad/record/derivatives.h"

enum { CHUNK = 4096 };

/* -- Steps ---------------------------------------------------------------- */

static int *new_list(st_scheduler *b, int n, const int *from) {
  int *list = st__arena_alloc(&b->s->arena, (size_t)(n + 1) * sizeof *list,
                              CHUNK);
  if (list && n > 0) memcpy(list, from, (size_t)n * sizeof *list);
  return list;
}

static st_status emit_call(st_scheduler *b, int call) {
  const st_graph_node *c = &b->g->nodes[call];
  st_schedule_step *step = &b->s->steps[b->s->nsteps];
  *step = (st_schedule_step){.call = *c, .nout = c->nresults};
  step->out = st__arena_alloc(&b->s->arena,
                              ((size_t)c->nresults + 1) * sizeof(int), CHUNK);
  if (!step->out) return ST_NO_MEMORY;
  ST_TRY(st__node_copy(&b->s->arena, &step->call));
  if (c->is_whole) {
    const size_t size = ((size_t)c->nresults + 1) * sizeof *step->like;
    step->like = st__arena_alloc(&b->s->arena, size, CHUNK);
    if (!step->like) return ST_NO_MEMORY;
  }
  for (int k = 0; k < c->nresults; k++) {
    const int v = c->result + k;
    if (c->is_whole) st__tensor_retain(step->like[k] = b->r->values[v].fake);
    step->out[k] = b->is_wanted[v] ? v : NO_VALUE;
  }
  if (b->s->has_random && !b->is_pointwise[call]) b->s->may_fail_later = true;
  if (st__may_draw(c)) b->s->has_random = true;
  b->s->nsteps++;
  return ST_OK;
}

/* Sets the inputs to which the gradient of each output flows (Note [Gradients
 * of fusion groups]). */
static void find_depends(const st_scheduler *b, uint32_t *depends) {
  const st_subgraph *p = &b->subgraph;
  uint32_t all[ST_GRAPH_INPUTS + ST_GROUP_CALLS * ST_GRAPH_OUTPUTS] = {0};
  for (int i = 0; i < p->nin; i++) all[i] = (uint32_t)1 << i;
  for (int i = 0; i < p->n; i++) {
    const st_graph_node *c = &b->g->nodes[p->calls[i]];
    uint32_t bits = 0;
    bool more = st__op_passes_gradients(c->op);
    for (int k = 0; more; k++) {
      const int v = st__nth_read(c, k, &more);
      if (v < 0 || b->r->values[v].origin == ST_ORIGIN_NUMBER) continue;
      bits |= all[p->graph_id[v]];
    }
    for (int v = c->result; v < c->result + c->nresults; v++) {
      const st_dtype d = b->r->values[v].fake->dtype;
      all[p->graph_id[v]] = st__is_inexact(d) ? bits : 0;
    }
  }
  for (int i = 0; i < p->nout; i++) depends[i] = all[p->graph_id[p->out[i]]];
}

/* True if the program's outputs have the dtypes, sizes and strides of the fake
 * tensors, with which later calls were recorded. */
static st_status check_layouts(const st_scheduler *b, const st_program *program,
                               bool *is_same) {
  const st_subgraph *p = &b->subgraph;
  st_tensor *inputs[ST_GRAPH_INPUTS], *none[ST_PROGRAM_OPERANDS] = {NULL};
  st_iter it;
  for (int i = 0; i < p->nin; i++) inputs[i] = b->r->values[p->in[i]].fake;
  const st_status status = st__program_iter(&it, program, inputs, none);
  *is_same = status == ST_OK;
  for (int i = 0; i < p->nout && status == ST_OK; i++) {
    const st_tensor *like = b->r->values[p->out[i]].fake;
    st_tensor *t = st__iter_take_output(&it, i);
    if (t->dtype != like->dtype || !st__same_sizes(t, like) ||
        !st__same_dims(t->ndim, t->strides, like->strides)) {
      *is_same = false;
    }
    st__tensor_release(&t);
  }
  st__iter_release(&it);
  return status == ST_NO_MEMORY ? status : ST_OK;
}

static st_status compile(const st_scheduler *b, st_compiled_graph *f,
                         st_program **out, bool *is_same) {
  st_tensor *inputs[ST_GRAPH_INPUTS];
  st_specialization key;
  for (int i = 0; i < b->subgraph.nin; i++) {
    inputs[i] = b->r->values[b->subgraph.in[i]].fake;
  }
  st__specialize(f, inputs, NULL, &key);
  ST_TRY(st__compiled_program(f, &key, out));
  ST_ASSERT((*out)->noutputs == b->subgraph.nout);
  return check_layouts(b, *out, is_same);
}

static st_status fill_step(st_scheduler *b, st_schedule_step *step) {
  const st_subgraph *p = &b->subgraph;
  step->nin = p->nin;
  step->nout = p->nout;
  step->in = new_list(b, p->nin, p->in);
  step->out = new_list(b, p->nout, p->out);
  step->depends = st__arena_alloc(&b->s->arena,
                                  ST_GRAPH_OUTPUTS * sizeof *step->depends,
                                  CHUNK);
  if (!step->in || !step->out || !step->depends) return ST_NO_MEMORY;
  find_depends(b, step->depends);
  return ST_OK;
}

/* Emits b->subgraph as one step. *done: false if it cannot be compiled. */
static st_status emit_fused(st_scheduler *b, bool *done) {
  st_schedule_step *step = &b->s->steps[b->s->nsteps];
  st_graph *g = NULL;
  st_status status = st__extract_subgraph(b, &g);
  *step = (st_schedule_step){0};
  *done = false;
  if (status == ST_OK) {
    status = st__compiled_new(g, &step->compiled);
    if (status != ST_OK) st_graph_release(&g);
  }
  if (status == ST_OK) {
    status = compile(b, step->compiled, &step->program, done);
  }
  if (status == ST_OK && *done) status = fill_step(b, step);
  if (status == ST_OK && *done) {
    if (step->program->nchecks && b->s->has_random) {
      b->s->may_fail_later = true;
    }
    b->s->nsteps++;
    return ST_OK;
  }
  *done = false;
  st__program_release(&step->program);
  st__compiled_release(step->compiled);
  step->compiled = NULL;
  return status == ST_NO_MEMORY ? status : ST_OK;
}

/* Emits the first *taken of n calls: as one fused step if possible, otherwise
 * one by one. *taken is halved until inputs and outputs fit. */
static st_status emit_calls(st_scheduler *b, const int *calls, int n,
                            int *taken) {
  st_subgraph *p = &b->subgraph;
  bool done = false;
  for (*taken = n; *taken > 1; *taken /= 2) {
    p->n = *taken;
    memcpy(p->calls, calls, (size_t)p->n * sizeof *calls);
    if (st__find_boundary(b)) break;
  }
  if (*taken > 1) ST_TRY(emit_fused(b, &done));
  if (done) return ST_OK;
  for (int i = 0; i < *taken; i++) ST_TRY(emit_call(b, calls[i]));
  return ST_OK;
}

static st_status emit_group(st_scheduler *b, int at) {
  int calls[ST_GROUP_CALLS], n = 0, taken;
  for (int c = 0; c < b->g->nnodes && n < b->groups[at].ncalls; c++) {
    if (b->is_needed[c] && b->group_of[c] == at) calls[n++] = c;
  }
  for (int i = 0; i < n; i += taken) {
    ST_TRY(emit_calls(b, calls + i, n - i, &taken));
  }
  return ST_OK;
}

/* -- Lifetimes of values -------------------------------------------------- */

/* The last step that reads v, or the one that computes it if none does. */
static int last_step(const st_scheduler *b, int v) {
  for (int i = b->s->nsteps - 1; i >= 0; i--) {
    const st_schedule_step *step = &b->s->steps[i];
    for (int k = 0; k < step->nin; k++) {
      if (step->in[k] == v) return i;
    }
    if (!step->program && st__reads(&step->call, v)) return i;
    for (int k = 0; k < step->nout; k++) {
      if (step->out[k] == v) return i;
    }
  }
  return NO_VALUE;
}

static st_status find_freed(st_scheduler *b) {
  const int n = b->g->ntensors;
  int freed[ST_RECORD_VALUES];
  short last[ST_RECORD_VALUES];
  for (int v = 0; v < n; v++) {
    const bool can_go = b->r->values[v].origin == ST_ORIGIN_CALL &&
                        !b->is_output[v] && b->is_wanted[v];
    last[v] = (short)(can_go ? last_step(b, v) : NO_VALUE);
  }
  for (int i = 0; i < b->s->nsteps; i++) {
    st_schedule_step *step = &b->s->steps[i];
    for (int v = 0; v < n; v++) {
      if (last[v] == i) freed[step->nfreed++] = v;
    }
    step->freed = new_list(b, step->nfreed, freed);
    if (!step->freed) return ST_NO_MEMORY;
  }
  return ST_OK;
}

/* -- Assembly ------------------------------------------------------------- */

/* Note [Schedules for dynamic shapes] */
static bool is_dynamic(const st_scheduler *b) {
  const st_schedule *s = b->s;
  if (b->r->uses_sizes || b->has_unfused || s->nsteps != 1) return false;
  return !s->steps[0].program || s->steps[0].nout == 1;
}

static st_status keep_tensors(st_scheduler *b) {
  st_schedule *s = b->s;
  const size_t size = ((size_t)b->g->ntensors + 1) * sizeof(st_captured);
  s->captured = st__arena_alloc(&s->arena, size, CHUNK);
  s->fakes = st__arena_alloc(&s->arena, size, CHUNK);
  if (!s->captured || !s->fakes) return ST_NO_MEMORY;
  for (int v = 0; v < b->g->ntensors; v++) {
    const st_recorded_value *value = &b->r->values[v];
    if (!value->tensor || !b->is_wanted[v]) continue;
    st__tensor_retain(value->tensor);
    st__tensor_retain(value->fake);
    s->fakes[s->ncaptured] = (st_captured){v, value->fake};
    s->captured[s->ncaptured++] = (st_captured){v, value->tensor};
  }
  return ST_OK;
}

static st_status build(st_scheduler *b) {
  ST_TRY(st__choose_groups(b));
  ST_TRY(keep_tensors(b));
  const size_t nbytes = ((size_t)b->g->nnodes + 1) * sizeof(st_schedule_step);
  b->s->steps = st__arena_alloc(&b->s->arena, nbytes, CHUNK);
  if (!b->s->steps) return ST_NO_MEMORY;
  for (int g = 0; g < b->ngroups; g++) ST_TRY(emit_group(b, b->order[g]));
  ST_TRY(find_freed(b));
  b->s->is_dynamic = is_dynamic(b);
  return ST_OK;
}

static st_status fill(st_scheduler *b, int nargs) {
  st_schedule *s = b->s;
  s->name = st__arena_text(&s->arena, b->g->name, strlen(b->g->name));
  s->nargs = nargs;
  s->nvalues = b->g->ntensors;
  s->noutputs = b->g->noutputs;
  s->max_listed = b->g->max_listed;
  s->differs = st__arena_alloc(&s->arena, sizeof *s->differs, CHUNK);
  if (!s->differs) return ST_NO_MEMORY;
  *s->differs = NULL;
  memcpy(s->outputs, b->g->outputs, sizeof s->outputs);
  return s->name ? build(b) : ST_NO_MEMORY;
}

st_status st__schedule_new(const st_recorder *r, int nargs, st_schedule **out) {
  st_scheduler *b = st__alloc(ST_MEM_SCRATCH, sizeof *b);
  st_schedule *s = st__alloc_zero(ST_MEM_REGISTRY, sizeof *s);
  st_status status = ST_NO_MEMORY;
  if (s) {
    st__ref_init(&s->refs);
    s->arena.kind = ST_MEM_REGISTRY;
    s->device = r->device;
    s->changes = r->changes;
  }
  if (b && s) {
    b->r = r;
    b->g = r->base.graph;
    b->s = s;
    status = fill(b, nargs);
  }
  if (b) st__free(ST_MEM_SCRATCH, b, sizeof *b);
  if (status == ST_OK) *out = s;
  else st_schedule_release(&s);
  return status;
}
