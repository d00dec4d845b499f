/* Histories of views, which are those of what they are views of.
 */
#ifndef ST_GRAD_GRAPH_VIEW_HISTORY_H
#define ST_GRAD_GRAPH_VIEW_HISTORY_H

#include "grad/graph/history.h"

/* view is one of t from now on, or of what t is a view of, as far as gradients
 * are concerned. Nothing happens when a kernel returned no header of its own:
 * t itself, or another that was there. */
st_status st__view_track(st_tensor *t, st_tensor *view,
                         st_creation creation);
/* The node of a view was made for its elements as they are. */
void st__view_is_current(st_tensor *view);
/* Gives a view whose elements were written since a node of its own (A5). */
st_status st__view_refresh(st_tensor *view);
/* BAD_STATE when a view of its kind cannot be written; what: how it is. */
st_status st__view_check(const st_tensor *view, const char *what);
/* The node of a base that was written through a view, by fn. */
st_status st__copy_slices(st_tensor *base, const st_tensor *view,
                          st_node *fn, int nr, st_node **out);

#endif
