/* luaopen_strided_core: creates the table of C functions that the Lua files
 * of strided wrap as its public modules.
 */

#include "bind.h"

__attribute__((visibility("default"))) int luaopen_strided_core(lua_State *L);

int luaopen_strided_core(lua_State *L) {
  luaL_checkversion(L); /* built for this Lua version */
  if (st_init() != ST_OK) return luaL_error(L, "%s", st_message());
  st__state *h = st__state_new(L);
  if (!st__sandbox_may_open(h)) {
    return luaL_error(L, "strided.core: not available in a sandbox, which "
                      "takes internals away");
  }
  lua_newtable(L);           /* [+1] */
  st__open_fiber(h, L);
  st__open_cdata(h, L);
  st__open_operator(h, L);
  st__open_dtype(h, L);
  st__open_scalar(h, L);
  st__open_shape(h, L);
  st__open_tensor(h, L);
  st__open_from_table(h, L);
  st__open_subscript(h, L);
  st__open_kernel(h, L);
  st__open_library(h, L);
  st__open_listen(h, L);
  st__open_plan(h, L);
  st__open_system(h, L);
  st__open_keyset(h, L);
  st__open_guard(h, L);
  st__open_mode(h, L);
  st__open_inspect(h, L);
  st__open_explain(h, L);
  st__open_dispatch_trace(h, L);
  st__open_schema(h, L);
  st__open_signal(h, L);
  st__open_warning(h, L);
  st__open_foreign(h, L);
  st__open_dlpack(h, L);
  st__open_source(h, L);
  st__open_save(h, L);
  st__open_zip_member(h, L);
  st__open_share(h, L);
  st__open_memory(h, L);
  st__open_scope(h, L);
  st__open_keepalive(h, L);
  st__open_grad(h, L);
  st__open_hook(h, L);
  st__open_context(h, L);
  st__open_autograd_function(h, L);
  st__open_symbolic_trace(h, L);
  st__open_fused_function(h, L);
  st__open_sandbox(h, L);
  const char *wrong = st__sandbox_from_env(h, L);
  if (wrong) {
    return luaL_error(L, "STRIDED_SANDBOX=%s: must be 1, or limits such as "
                      "memory=1000000,threads=1", wrong);
  }
  return 1;
}
