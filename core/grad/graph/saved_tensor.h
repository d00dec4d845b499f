/* Saved tensors: the arguments and results that a node keeps for its gradient.
 */
#ifndef ST_GRAD_GRAPH_SAVED_TENSOR_H
#define ST_GRAD_GRAPH_SAVED_TENSOR_H

#include "tensor/value.h"
#include "grad/graph/history.h"

/* The geometry of a tensor, without its elements. */
typedef struct st_saved_geometry {
  uint8_t dtype, device;
  int ndim;
  int64_t offset;
  int64_t dims[]; /* sizes, then strides */
} st_saved_geometry;

/* A saved value: a tensor, a list of tensors, their geometry, or a value that
 * contains no tensor. */
typedef struct st_saved {
  st_value value;         /* owned; a tensor is a header without history */
  st_saved_geometry *geometry; /* owned; instead of a tensor, or NULL */
  struct st_saved *list;  /* owned; value.len saved tensors, or NULL */
  st_node *source;        /* owned; the node that computed the tensor */
  int nr;                 /* index of the result */
  uint32_t version;       /* when the tensor was saved */
  bool is_result;         /* its node is the source; `source` is NULL */
} st_saved;

/* Saves an argument or a result in *s. BAD_STATE for an inference tensor. */
st_status st__save(st_saved *s, const st_value *v, bool is_result);
/* Saves a copy of t, which an in-place operator is about to overwrite. */
st_status st__save_clone(st_saved *s, const st_tensor *t);
/* Saves the geometry of a tensor or of a list of tensors. */
st_status st__save_geometry(st_saved *s, const st_value *v);
void st__saved_clear(st_saved *s);
/* Releases saved tensors; other values and geometry stay. */
void st__saved_release(st_saved *s);

/* BAD_STATE if a tensor was written in place since it was saved (A3). node:
 * the one that saved it. name: of the argument, for the message. */
st_status st__saved_check(const st_saved *s, const st_node *node,
                          const char *name);
/* True if the saved tensor was written since, or none was saved. */
bool st__saved_is_written(const st_saved *s);
/* The saved value, checked and owned. While gradients are recorded, a tensor
 * gets its history back. */
st_status st__saved_unpack(const st_saved *s, st_node *node, const char *name,
                           st_value *out);

#endif
