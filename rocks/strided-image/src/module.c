/* The module `strided.image.core`: registers the operators st.ops.image once
 * per process. `require` returns true.
 */

#include <lauxlib.h>
#include <pthread.h>

#include "image.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static st_status registered;

/* The library is kept for the life of the process; closing it would remove its
 * registrations. */
static st_status register_operators(void) {
  static st_library *lib;
  TRY(st_init());
  TRY(st_library_open("image", ST_LIBRARY_DEF, NULL, 0, "strided.image",
                      &lib));
  TRY(image_register_files(lib));
  TRY(image_register_resize(lib));
  TRY(image_register_geometry(lib));
  TRY(image_register_colour(lib));
  return image_register_blur(lib);
}

static void register_all(void) { registered = register_operators(); }

int luaopen_strided_image_core(lua_State *L);

__attribute__((visibility("default")))
int luaopen_strided_image_core(lua_State *L) {
  pthread_once(&once, register_all);
  if (registered != ST_OK) {
    return luaL_error(L, "strided.image could not be registered: %s",
                      st_message());
  }
  lua_pushboolean(L, 1); /* true */
  return 1;
}
