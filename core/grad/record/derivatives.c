/* Registration of derivatives: the operators of derivatives.def and their
 * in-place variants get an Autograd kernel.
 *
 * Note [Rules are parsed lazily]
 * A process records the gradients of few operators, so the formulas of an
 * operator are parsed when its first call is recorded. A spec parses all.
 */

#include "grad/record/derivatives.h"

#include <pthread.h>
#include <string.h>

#include "os/mapped_memory.h"
#include "base/text.h"
#include "grad/record/record.h"

/* -- Table ---------------------------------------------------------------- */

typedef enum row_kind { DERIVED, NOT_DERIVED, REFUSED } row_kind;

typedef struct row {
  row_kind kind;
  const char *name;               /* without the namespace */
  const char *const *formulas;
} row;

#define ST_DERIVE(name, ...) \
  {DERIVED, name, (const char *const[]){__VA_ARGS__, NULL}},
#define ST_NO_DERIVATIVE(name) {NOT_DERIVED, name, NULL},
#define ST_UNDERIVABLE(name) {REFUSED, name, NULL},
static const row rows[] = {
#include "grad/derivatives.def"
};
#undef ST_DERIVE
#undef ST_NO_DERIVATIVE
#undef ST_UNDERIVABLE

enum { ROWS = sizeof rows / sizeof *rows };

/* Of the operator of each row and of its in-place variant. */
static st_derived derived[ROWS][2];

static const char NOT_DIFFERENTIABLE[] = "not differentiable";

/* For the tensor that an operator without a derivative writes in place. */
static const char *const zero_self[] = {"self: zeros_like(grad)", NULL};

/* -- Rules ---------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void reinit_mutex(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* Note [Forks during initialisation] */
__attribute__((constructor)) static void register_atfork(void) {
  pthread_atfork(NULL, NULL, reinit_mutex);
}

static int count_of(const char *const *formulas) {
  int n = 0;
  while (formulas && formulas[n]) n++;
  return n;
}

static st_status make_rule(st_derived *d, const st_op *op, st_rule **out) {
  if (!d->late.backward) {
    return st__rule_new(op, count_of(d->formulas), d->formulas, true, out);
  }
  ST_TRY(st__rule_custom(op, &d->late, out));
  d->retain(d->late.ctx);
  d->op = op;
  return ST_OK;
}

st_status st__derived_rule(st_derived *d, const st_op *op, st_rule **out) {
  *out = atomic_load_explicit(&d->rule, memory_order_acquire);
  if (*out || d->has_none) return ST_OK;
  pthread_mutex_lock(&mutex);
  st_status status = ST_OK;
  *out = atomic_load(&d->rule);
  if (!*out) {
    status = make_rule(d, op, out);
    if (status == ST_OK) {
      atomic_store_explicit(&d->rule, *out, memory_order_release);
    }
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

/* -- Descriptions --------------------------------------------------------- */

/* n formulas as one interned string, never freed; NULL if out of memory. */
static const char *join_formulas(int n, const char *const *formulas) {
  const char *kept = NULL;
  st_text t = {0};
  char *text = NULL;
  for (int i = 0; i < n; i++) {
    st__text_format(&t, "%s%s", i ? "\n" : "", formulas[i]);
  }
  if (st__text_finish(&t, &text) != ST_OK) return NULL;
  st__lock();
  if (st__intern(text, &kept) != ST_OK) kept = NULL;
  st__unlock();
  st__text_free(&text);
  return kept;
}

/* -- Registration --------------------------------------------------------- */

static bool is_composite(const st_op *op) {
  const char *debug, *provenance;
  st__op_slot(op, ST_KEY_COMPOSITE_IMPLICIT, &debug, &provenance);
  return strcmp(provenance, "math kernel") == 0;
}

static st_status implement(st_derived *d, const st_op *op, const row *r,
                           bool is_inplace) {
  d->op = op;
  d->has_none = r->kind == NOT_DERIVED && !is_inplace;
  d->formulas = r->kind == NOT_DERIVED ? zero_self : r->formulas;
  const st_kernel kernel = {.fn = st__record_call, .ctx = d,
                            .debug = "core/grad/derivatives.def"};
  return st__impl_op(op, ST_KEY_AUTOGRAD, &kernel, NULL);
}

static bool is_inplace(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s->nargs > 0 && s->args[0].is_write && !s->args[0].kwarg_only;
}

/* The operator of a row (mark "") or its in-place variant (mark "_"). */
static const st_op *find_row(const row *r, const char *mark) {
  char name[128] = "aten::"; /* written by hand: snprintf is slow */
  const size_t ns = strlen(name), n = strcspn(r->name, ".");
  ST_ASSERT(ns + n + sizeof "_" <= sizeof name);
  memcpy(name + ns, r->name, n);
  strcpy(name + ns + n, mark);
  return st_op_find(name, r->name[n] ? r->name + n + 1 : "");
}

static st_status register_row(int i) {
  const row *r = &rows[i];
  const st_op *op = find_row(r, "");
  if (!op) {
    return st__fail(ST_NOT_FOUND, "derivatives.def: there is no %s", r->name);
  }
  return r->kind == REFUSED ? ST_OK
                            : implement(&derived[i][0], op, r,
                                        is_inplace(op));
}

static bool has_row(const st_op *op) {
  for (int i = 0; i < ROWS; i++) {
    if (derived[i][0].op == op) return true;
  }
  return false;
}

/* Registers the in-place variant, unless it is composite or has its own row. */
static st_status register_inplace(int i) {
  if (rows[i].kind == REFUSED || is_inplace(derived[i][0].op)) return ST_OK;
  const st_op *op = find_row(&rows[i], "_");
  if (!op || !is_inplace(op) || has_row(op) || is_composite(op)) return ST_OK;
  return implement(&derived[i][1], op, &rows[i], true);
}

st_status st__register_derivatives(void) {
  st__populate(derived, sizeof derived);
  st__history_set_up();
  st__set_autograd_kernels(st__track, st__tracked, st__refuse_out);
  for (int i = 0; i < ROWS; i++) ST_TRY(register_row(i));
  for (int i = 0; i < ROWS; i++) ST_TRY(register_inplace(i));
  return ST_OK;
}

/* -- Extensions ----------------------------------------------------------- */

static st_derived *extensions; /* newest first; under the mutex */

static void add_extension(st_derived *d) {
  pthread_mutex_lock(&mutex);
  d->next = extensions;
  extensions = d;
  pthread_mutex_unlock(&mutex);
}

static void free_extension(void *ctx) {
  st_derived *d = ctx, **at = &extensions;
  pthread_mutex_lock(&mutex);
  while (*at && *at != d) at = &(*at)->next;
  if (*at) *at = d->next;
  pthread_mutex_unlock(&mutex);
  st__rule_release(atomic_load(&d->rule));
  if (d->late.free_ctx) d->late.free_ctx(d->late.ctx);
  st__free(ST_MEM_REGISTRY, d, sizeof *d);
}

static const st_op *find_op(const st_library *lib, const char *name) {
  char full[256];
  const bool has_ns = strstr(name, "::") != NULL;
  snprintf(full, sizeof full, "%s%s%s",
           has_ns ? "" : st_library_namespace(lib), has_ns ? "" : "::", name);
  return st__op_find_full(full);
}

/* Takes the reference to rule, also on failure; in that case the ctx of a
 * custom derivative still belongs to the caller. */
static st_status implement_rule(st_library *lib, const st_op *op,
                                st_rule *rule, const char *text) {
  st_derived *d = st__alloc_zero(ST_MEM_REGISTRY, sizeof *d);
  if (!d) {
    rule->custom.free_ctx = NULL;
    st__rule_release(rule);
    return ST_NO_MEMORY;
  }
  d->op = op;
  d->text = text;
  atomic_init(&d->rule, rule);
  const st_kernel kernel = {.fn = st__record_call, .ctx = d,
                            .free_ctx = free_extension, .debug = "derivative"};
  const st_status status =
    st__library_implement(lib, st__op_full_name(op), "Autograd", &kernel);
  if (status != ST_OK) {
    rule->custom.free_ctx = NULL;
    free_extension(d);
  } else {
    add_extension(d);
  }
  return status;
}

static st_status need_op(const st_library *lib, const char *name,
                         const st_op **out) {
  *out = find_op(lib, name);
  if (*out) return ST_OK;
  return st__fail(ST_NOT_FOUND, "there is no operator '%s' to derive: define "
                  "it first", name);
}

st_status st_library_derive(st_library *lib, const char *name, int n,
                            const char *const *formulas) {
  const st_op *op;
  st_rule *rule;
  ST_TRY(need_op(lib, name, &op));
  ST_TRY(st__rule_new(op, n, formulas, false, &rule));
  return implement_rule(lib, op, rule,
                        n ? join_formulas(n, formulas) : NOT_DIFFERENTIABLE);
}

st_status st_library_derivative(st_library *lib, const char *name,
                                const st_derivative *d) {
  const st_op *op;
  st_rule *rule;
  ST_TRY(need_op(lib, name, &op));
  ST_TRY(st__rule_custom(op, d, &rule));
  return implement_rule(lib, op, rule, "a function");
}

st_status st__library_derivative_later(st_library *lib, const char *name,
                                       const st_derivative *late,
                                       void (*retain)(void *ctx)) {
  st_derived *d = st__alloc_zero(ST_MEM_REGISTRY, sizeof *d);
  if (!d) return ST_NO_MEMORY;
  d->op = find_op(lib, name);
  d->late = *late;
  d->retain = retain;
  d->text = "derived from the operators that it calls";
  const st_kernel kernel = {.fn = st__record_call, .ctx = d,
                            .free_ctx = free_extension, .debug = "derivative"};
  const st_status status = st__library_implement(lib, name, "Autograd",
                                                 &kernel);
  if (status != ST_OK) st__free(ST_MEM_REGISTRY, d, sizeof *d);
  else add_extension(d);
  return status;
}

/* -- Inspection ----------------------------------------------------------- */

/* Reclamation is paused while d, which may be an extension's, is read. */
bool st__op_passes_gradients(const st_op *op) {
  st__pause_reclaim(true);
  const st_kernel_facts k = st__kernel_facts(op, "AutogradCPU");
  const st_derived *d = k.fn == st__record_call ? k.ctx : NULL;
  const bool has_none = d && (d->has_none || d->text == NOT_DIFFERENTIABLE);
  st__pause_reclaim(false);
  return !has_none;
}

static const char *describe(const st_derived *d) {
  if (d->has_none) return NOT_DIFFERENTIABLE;
  return join_formulas(count_of(d->formulas), d->formulas);
}

const char *st_op_derivative(const st_op *op) {
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < 2; k++) {
      if (derived[i][k].op == op) return describe(&derived[i][k]);
    }
    if (rows[i].kind == REFUSED && find_row(&rows[i], "") == op) {
      return "refuses tensors that require a gradient";
    }
  }
  pthread_mutex_lock(&mutex);
  const st_derived *d = extensions;
  while (d && d->op != op) d = d->next;
  const char *text = d ? d->text : NULL;
  pthread_mutex_unlock(&mutex);
  return text;
}
