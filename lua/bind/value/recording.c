/* What a function that st.fuse records must not do: it ends the recording.
 */

#include <stdio.h>

#include "value/value.h"

int st__end_recording(st__state *h, lua_State *L, const char *why,
                      const char *name) {
  char text[200], running[80];
  if (!name) name = st__running_name(h, L, running, sizeof running);
  snprintf(text, sizeof text, "%s%s%s", why, *name ? ": " : "", name);
  st_recorder_refuse(h->recorder, text);
  return st__error(h, L, ST_BAD_STATE, "%s%sst.fuse cannot record the "
                   "function: %s", name, *name ? ": " : "", why);
}
