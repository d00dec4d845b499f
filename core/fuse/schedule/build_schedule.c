/* From pieces and calls to steps.
 */

#include <string.h>

#include "fuse/schedule/fusion_group.h"
#include "grad/record/derivatives.h"

enum { CHUNK = 4096 };

/* -- Steps ---------------------------------------------------------------- */

static int *new_list(st_pieces *b, int n, const int *from) {
  int *list = st__arena_alloc(&b->s->arena, (size_t)(n + 1) * sizeof *list,
                              CHUNK);
  if (list && n > 0) memcpy(list, from, (size_t)n * sizeof *list);
  return list;
}

static st_status emit_call(st_pieces *b, int call) {
  const st_recorded_call *c = &b->r->calls[call];
  st_step *step = &b->s->steps[b->s->nsteps];
  const size_t size = (size_t)c->schema->nargs * sizeof *c->args;
  *step = (st_step){.op = c->op, .schema = c->schema, .nout = c->nresults};
  step->where = st__arena_text(&b->s->arena, c->where, strlen(c->where));
  step->args = st__arena_alloc(&b->s->arena, size + 1, CHUNK);
  step->out = st__arena_alloc(&b->s->arena,
                              ((size_t)c->nresults + 1) * sizeof(int), CHUNK);
  if (!step->where || !step->args || !step->out) return ST_NO_MEMORY;
  memcpy(step->args, c->args, size);
  for (int i = 0; i < c->schema->nargs; i++) {
    ST_TRY(st__ref_keep(&b->s->arena, &step->args[i]));
  }
  for (int k = 0; k < c->nresults; k++) {
    const int v = c->result + k;
    step->out[k] = b->is_wanted[v] ? v : NOTHING;
  }
  if (st__op_tags(c->op) & ST_OPTAG_NONDETERMINISTIC_SEEDED) {
    b->s->has_random = true;
  }
  b->s->nsteps++;
  return ST_OK;
}

/* Does a gradient go through the call to its result? */
static bool passes_gradients(const st_recorded_call *c) {
  const char *formulas = st__op_derivative(c->op);
  return !formulas || strcmp(formulas, "not differentiable") != 0;
}

/* Which inputs have gradients by each output: Note [Gradients of pieces]. */
static void find_depends(const st_pieces *b, uint32_t *depends) {
  const st_piece *p = &b->piece;
  uint32_t all[ST_GRAPH_INPUTS + ST_PIECE_CALLS * ST_GRAPH_OUTPUTS] = {0};
  for (int i = 0; i < p->nin; i++) all[i] = (uint32_t)1 << i;
  for (int i = 0; i < p->n; i++) {
    const st_recorded_call *c = &b->r->calls[p->calls[i]];
    uint32_t bits = 0;
    bool more = true;
    for (int k = 0; more && passes_gradients(c); k++) {
      const int v = st__nth_read(c, k, &more);
      if (v < 0 || b->r->values[v].origin == ST_ORIGIN_NUMBER) continue;
      bits |= all[p->place[v]];
    }
    for (int v = c->result; v < c->result + c->nresults; v++) {
      const st_dtype d = (st_dtype)b->r->values[v].twin->dtype;
      all[p->place[v]] = st__is_floating(d) || st__is_complex(d) ? bits : 0;
    }
  }
  for (int i = 0; i < p->nout; i++) depends[i] = all[p->place[p->out[i]]];
}

/* Are the results like the doubles, dtypes and strides? What reads them was
 * recorded with those. */
static st_status compare(const st_pieces *b, const st_program *program,
                         bool *is_same) {
  const st_piece *p = &b->piece;
  st_tensor *inputs[ST_GRAPH_INPUTS], *none[ST_PROGRAM_OPERANDS] = {NULL};
  st_iter it;
  for (int i = 0; i < p->nin; i++) inputs[i] = b->r->values[p->in[i]].twin;
  const st_status status = st__fused_iter(&it, program, inputs, none);
  *is_same = status == ST_OK;
  for (int i = 0; i < p->nout && status == ST_OK; i++) {
    const st_tensor *like = b->r->values[p->out[i]].twin;
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

static st_status compile(const st_pieces *b, st_fused *f, st_program **out,
                         bool *is_same) {
  st_tensor *inputs[ST_GRAPH_INPUTS];
  st_fused_key key;
  for (int i = 0; i < b->piece.nin; i++) {
    inputs[i] = b->r->values[b->piece.in[i]].twin;
  }
  st__fused_key(f, inputs, NULL, &key);
  ST_TRY(st__fused_program(f, &key, out));
  ST_ASSERT((*out)->noutputs == b->piece.nout);
  return compare(b, *out, is_same);
}

static st_status fill_step(st_pieces *b, st_step *step) {
  const st_piece *p = &b->piece;
  step->nin = p->nin;
  step->nout = p->nout;
  step->where = "";
  step->in = new_list(b, p->nin, p->in);
  step->out = new_list(b, p->nout, p->out);
  step->depends = st__arena_alloc(&b->s->arena,
                                  ST_GRAPH_OUTPUTS * sizeof *step->depends,
                                  CHUNK);
  if (!step->in || !step->out || !step->depends) return ST_NO_MEMORY;
  find_depends(b, step->depends);
  return ST_OK;
}

/* *done: false when the piece does not make a program. */
static st_status emit_piece(st_pieces *b, bool *done) {
  st_step *step = &b->s->steps[b->s->nsteps];
  st_graph *g = NULL;
  st_status status = st__piece_graph(b, &g);
  *step = (st_step){0};
  *done = false;
  if (status == ST_OK) {
    status = st__fused_new(g, &step->fused);
    if (status != ST_OK) st__graph_release(&g);
  }
  if (status == ST_OK) {
    status = compile(b, step->fused, &step->program, done);
  }
  if (status == ST_OK && *done) status = fill_step(b, step);
  if (status == ST_OK && *done) return b->s->nsteps++, ST_OK;
  *done = false;
  st__program_release(&step->program);
  st__fused_release(step->fused);
  step->fused = NULL;
  return status == ST_NO_MEMORY ? status : ST_OK;
}

/* The calls from b->piece.calls on, all n of them or as many as fit; *taken
 * says how many. */
static st_status emit_some(st_pieces *b, const int *calls, int n, int *taken) {
  st_piece *p = &b->piece;
  bool done = false;
  for (*taken = n; *taken > 1; *taken /= 2) {
    p->n = *taken;
    memcpy(p->calls, calls, (size_t)p->n * sizeof *calls);
    if (st__find_ends(b)) break;
  }
  if (*taken > 1) ST_TRY(emit_piece(b, &done));
  if (done) return ST_OK;
  for (int i = 0; i < *taken; i++) ST_TRY(emit_call(b, calls[i]));
  return ST_OK;
}

static st_status emit_group(st_pieces *b, int at) {
  int calls[ST_PIECE_CALLS], n = 0, taken;
  for (int c = 0; c < b->r->ncalls && n < b->groups[at].ncalls; c++) {
    if (b->is_needed[c] && b->group_of[c] == at) calls[n++] = c;
  }
  for (int i = 0; i < n; i += taken) {
    ST_TRY(emit_some(b, calls + i, n - i, &taken));
  }
  return ST_OK;
}

/* -- When values can go --------------------------------------------------- */

/* The last step that reads v, or else the one that gives it. */
static int last_step(const st_pieces *b, int v) {
  for (int i = b->s->nsteps - 1; i >= 0; i--) {
    const st_step *step = &b->s->steps[i];
    for (int k = 0; k < step->nin; k++) {
      if (step->in[k] == v) return i;
    }
    if (step->op && st__reads(&(st_recorded_call){.schema = step->schema,
                                              .args = step->args}, v)) {
      return i;
    }
    for (int k = 0; k < step->nout; k++) {
      if (step->out[k] == v) return i;
    }
  }
  return NOTHING;
}

static st_status find_dead(st_pieces *b) {
  const st_rehearsal *r = b->r;
  int dead[ST_RECORD_VALUES];
  short last[ST_RECORD_VALUES];
  for (int v = 0; v < r->nvalues; v++) {
    const bool can_go = r->values[v].origin == ST_ORIGIN_CALL &&
                        !b->is_output[v] && b->is_wanted[v];
    last[v] = (short)(can_go ? last_step(b, v) : NOTHING);
  }
  for (int i = 0; i < b->s->nsteps; i++) {
    st_step *step = &b->s->steps[i];
    for (int v = 0; v < r->nvalues; v++) {
      if (last[v] == i) dead[step->ndead++] = v;
    }
    step->dead = new_list(b, step->ndead, dead);
    if (!step->dead) return ST_NO_MEMORY;
  }
  return ST_OK;
}

/* -- All of it ------------------------------------------------------------ */

/* Note [Steps without a shape] */
static bool is_free(const st_pieces *b) {
  const st_steps *s = b->s;
  if (b->r->is_shaped || b->has_others || s->nsteps != 1) return false;
  return !s->steps[0].program || s->steps[0].nout == 1;
}

static st_status keep_tensors(st_pieces *b) {
  st_steps *s = b->s;
  const size_t size = ((size_t)b->r->nvalues + 1) * sizeof(st_kept);
  s->kept = st__arena_alloc(&s->arena, size, CHUNK);
  s->likes = st__arena_alloc(&s->arena, size, CHUNK);
  if (!s->kept || !s->likes) return ST_NO_MEMORY;
  for (int v = 0; v < b->r->nvalues; v++) {
    const st_recorded *value = &b->r->values[v];
    if (!value->tensor || !b->is_wanted[v]) continue;
    st__tensor_retain(value->tensor);
    st__tensor_retain(value->twin);
    s->likes[s->nkept] = (st_kept){v, value->twin};
    s->kept[s->nkept++] = (st_kept){v, value->tensor};
  }
  return ST_OK;
}

static st_status build(st_pieces *b) {
  const st_rehearsal *r = b->r;
  ST_TRY(st__group_calls(b));
  ST_TRY(keep_tensors(b));
  b->s->steps = st__arena_alloc(&b->s->arena,
                                ((size_t)r->ncalls + 1) * sizeof(st_step),
                                CHUNK);
  if (!b->s->steps) return ST_NO_MEMORY;
  for (int g = 0; g < b->ngroups; g++) ST_TRY(emit_group(b, b->order[g]));
  ST_TRY(find_dead(b));
  b->s->is_free = is_free(b);
  return ST_OK;
}

static st_status fill(st_pieces *b, int nargs) {
  st_steps *s = b->s;
  s->name = st__arena_text(&s->arena, b->r->name, strlen(b->r->name));
  s->nargs = nargs;
  s->nvalues = b->r->nvalues;
  s->noutputs = b->r->noutputs;
  s->most_listed = b->r->most_listed;
  memcpy(s->outputs, b->r->outputs, sizeof s->outputs);
  return s->name ? build(b) : ST_NO_MEMORY;
}

st_status st__steps_new(const st_rehearsal *r, int nargs, st_steps **out) {
  st_pieces *b = st__alloc(ST_MEM_SCRATCH, sizeof *b);
  st_steps *s = st__alloc_zero(ST_MEM_REGISTRY, sizeof *s);
  st_status status = ST_NO_MEMORY;
  if (s) {
    st__ref_init(&s->refs);
    s->arena.kind = ST_MEM_REGISTRY;
  }
  if (b && s) {
    b->r = r;
    b->s = s;
    status = fill(b, nargs);
  }
  if (b) st__free(ST_MEM_SCRATCH, b, sizeof *b);
  if (status == ST_OK) *out = s;
  else st__steps_release(&s);
  return status;
}
