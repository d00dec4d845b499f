/* Entering and leaving the engine.
 */

#include "state/engine.h"
#include "state/guard.h"

/* Releases the tensors that were freed while the engine ran: see tensor_free
 * (tensor_userdata.c). */
static void release_deferred(st__state *h, lua_State *L) {
  if (!h->has_deferred || h->running || !st__is_outermost(h, L)) return;
  h->has_deferred = false;
  lua_pushboolean(L, 0);                            /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [-1] */
}

static st_status run_request(const st__request *req) {
  switch (req->kind) {
    case ST_REQUEST_REDISPATCH:
      return st_redispatch_declared(req->op, req->declared, req->keys,
                                    req->args, req->rets);
    case ST_REQUEST_KEY:
      return st_script_call_for_key(req->op, req->declared, req->key,
                                    req->args, req->rets);
    case ST_REQUEST_EXPLAIN:
      return st_explain(req->op, req->n, req->args, req->text);
    case ST_REQUEST_PLANS:
      return st_plan_call(req->op, req->n, req->args, req->plans, req->room,
                          req->count);
    case ST_REQUEST_CONVERTED:
      return st_script_call_converted(req->op, req->declared, req->args,
                                      req->rets);
    default:
      return st_script_call_declared(req->op, req->declared, req->n,
                                     req->args, req->rets);
  }
}

st__entry st__enter(st__state *h, lua_State *L) {
  st_limits *limits = st__sandbox_limits(h);
  const st__entry e = {st__current, h->running, h->fiber,
                       limits ? st_limits_enter(limits) : NULL,
                       st_count_from(1)};
  st__current = h;
  h->running = L;
  h->fiber = h->fiber_self();
  return e;
}

void st__leave(st__state *h, const st__entry *e) {
  if (h->pending_warnings) st__deliver_warnings(h);
  st_count_from(e->first);
  if (st__sandbox_limits(h)) st_limits_enter(e->limits);
  h->running = e->running;
  h->fiber = e->fiber;
  st__current = e->outer;
}

st_status st__begin(st__state *h, lua_State *L, const char *name,
                    st__entry *e) {
  if (!st__owns_fiber(h)) {
    return st_fail(ST_BAD_STATE, "%s: %s", name, st__other_fiber(h));
  }
  *e = st__enter(h, L);
  return ST_OK;
}

st_status st__end(st__state *h, lua_State *L, const st__entry *e,
                  st_status status) {
  st__leave(h, e);
  if (!e->running &&
      atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L); /* kernels removed while they ran */
  }
  release_deferred(h, L);
  return status;
}

static const char *name_of(const st__request *req) {
  return st__short_name(st_op_name(req->op));
}

static st_status enter(st__state *h, lua_State *L, const st__request *req) {
  if (!st__owns_fiber(h)) {
    return st_fail(ST_BAD_STATE, "%s: %s", name_of(req), st__other_fiber(h));
  }
  const st__entry e = st__enter(h, L);
  const st_status status = run_request(req);
  st__leave(h, &e);
  const lua_State *running = e.running;
  /* Inside a Lua kernel the engine leaves the name to the outer operator, but
   * this failure becomes a Lua error here. */
  if (running && status != ST_OK && status != ST_HOST) {
    st_fail(status, "%s: %s", name_of(req), st_message());
  }
  if (!running && atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L); /* kernels removed while they ran */
  }
  return status;
}

static st_status retry(st__state *h, lua_State *L, const st__request *req,
                       const char *schema, st_status status) {
  bool made = false;
  if (status != ST_NO_MEMORY || !st__gc_retry(h, L, &made)) return status;
  return st_op_schema(req->op) == schema ? enter(h, L, req) : status;
}

void st__drop_returned(st__state *h, lua_State *L) {
  h->has_returned = false;
  lua_pushboolean(L, 0);                              /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->returned_ref); /* [-1] */
}

st_status st__run(st__state *h, lua_State *L, const st__request *req) {
  const char *schema = st_op_schema(req->op);
  if (h->has_returned && !h->running) st__drop_returned(h, L);
  st_status status = enter(h, L, req);
  status = retry(h, L, req, schema, status);
  release_deferred(h, L);
  return status;
}

/* -- Loops of the binding -------------------------------------------------- */

st_status st__poll_status(st__state *h, lua_State *L) {
  if (!st__owns_fiber(h)) return ST_OK;
  const st__entry e = st__enter(h, L);
  const st_status status = st_poll_interrupt();
  st__leave(h, &e);
  return status;
}

void st__poll(st__state *h, lua_State *L) {
  const st_status status = st__poll_status(h, L);
  if (status != ST_OK) st__raise(h, L, status);
}
