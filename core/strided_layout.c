/* The functions of strided_layout.h.
 */

#include "strided.h"

#include "dispatch/dispatch.h"
#include "grad/graph/history.h"
#include "tensor/layout.h"

const char *st_layout_name(st_layout l) { return st__layout_name(l); }
st_layout st_tensor_layout(const st_tensor *t) {
  return (st_layout)t->storage->layout;
}
st_status st_tensor_notes(const st_tensor *t, int64_t notes[ST_LAYOUT_NOTES]) {
  return st__layout_notes(t, notes);
}
st_status st_tensor_set_parts(st_tensor *t, int n, st_tensor *const *parts,
                              const int64_t notes[ST_LAYOUT_NOTES]) {
  ST_TRY(st__set_parts(t, n, parts, notes));
  st__bump_version(t);
  return ST_OK;
}
