/* Histories of views, which follow those of their bases.
 */
#ifndef ST_GRAD_GRAPH_VIEW_HISTORY_H
#define ST_GRAD_GRAPH_VIEW_HISTORY_H

#include "grad/graph/history.h"

/* Records that view is a view of t, or of t's base if t is a view itself. Does
 * nothing if the kernel returned no new header, but t itself or an existing
 * view. */
st_status st__view_track(st_tensor *t, st_tensor *view,
                         st_creation creation);
/* Records that the node of a view is up to date with its version. */
void st__view_is_current(st_tensor *view);
/* Makes a new node for a view whose elements were written since its node was
 * made (A5). */
st_status st__view_refresh(st_tensor *view);
/* BAD_STATE if the way in which the view was made forbids a write. what: the
 * verb phrase of the message, "is written in place". */
st_status st__view_check(const st_tensor *view, const char *what);
/* The CopySlices node of a base after fn wrote its view, which is result nr of
 * fn. */
st_status st__copy_slices(st_tensor *base, const st_tensor *view,
                          st_node *fn, int nr, st_node **out);

#endif
