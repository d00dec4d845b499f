/* luaopen_strided_core: creates the table of C functions that the Lua files
 * of strided wrap as its public modules.
 */

#include "grad/grad.h"
#include "io/io.h"
#include "library/library.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "trace/trace.h"

#define OPEN(name) st__open_##name(h, L);

__attribute__((visibility("default"))) int luaopen_strided_core(lua_State *L);

int luaopen_strided_core(lua_State *L) {
  luaL_checkversion(L); /* built for this Lua version */
  if (st_init() != ST_OK) return luaL_error(L, "%s", st_message());
  st__state *h = st__state_new(L);
  if (!st__sandbox_may_open(h)) {
    return luaL_error(L, "strided.core: not available in a sandbox, which "
                      "takes internals away");
  }
  lua_newtable(L);                                /* [+1] */
  lua_pushfstring(L, "strided %s", st_version()); /* [+1] */
  lua_setfield(L, -2, "_VERSION");                /* [-1] */
  ST_STATE_OPENERS(OPEN)
  ST_VALUE_OPENERS(OPEN)
  ST_CALL_OPENERS(OPEN)
  ST_TENSOR_OPENERS(OPEN)
  ST_GRAD_OPENERS(OPEN)
  ST_TRACE_OPENERS(OPEN)
  ST_LIBRARY_OPENERS(OPEN)
  ST_IO_OPENERS(OPEN)
  ST_PROCESS_OPENERS(OPEN)
  ST_SANDBOX_OPENERS(OPEN)
  const char *wrong = st__sandbox_from_env(h, L);
  if (wrong) {
    return luaL_error(L, "STRIDED_SANDBOX=%s: must be 1, or limits such as "
                      "memory=1000000,threads=1", wrong);
  }
  if (st__is_boxed(h)) st__push_closed_core(L);   /* [+1] */
  return 1;
}
