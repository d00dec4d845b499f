/* The module `strided_example`: registers the operators st.ops.example, the
 * device "example" and the layout "example_coo" once per process. `require`
 * returns true.
 */

#include <lauxlib.h>
#include <pthread.h>

#include "example.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static st_status registered;

static void register_all(void) {
  registered = st_init();
  if (registered == ST_OK) registered = example_register_operators();
  if (registered == ST_OK) registered = example_register_device();
  if (registered == ST_OK) registered = example_register_layout();
}

__attribute__((visibility("default")))
int luaopen_strided_example(lua_State *L) {
  pthread_once(&once, register_all);
  if (registered != ST_OK) {
    return luaL_error(L, "strided_example could not be registered: %s",
                      st_message());
  }
  lua_pushboolean(L, 1);
  return 1;
}
