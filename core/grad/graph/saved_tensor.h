/* What a node keeps of the arguments and results of its operation.
 */
#ifndef ST_GRAD_GRAPH_SAVED_TENSOR_H
#define ST_GRAD_GRAPH_SAVED_TENSOR_H

#include "dispatch/value.h"
#include "grad/graph/history.h"

/* Geometry without elements. */
typedef struct st_saved_geometry {
  uint8_t dtype, device;
  int ndim;
  int64_t offset;
  int64_t dims[]; /* sizes, then strides */
} st_saved_geometry;

/* One saved value: a tensor, a list of them, their geometry, or plain data. */
typedef struct st_saved {
  st_value value;         /* owned; a tensor is a header without history */
  st_saved_geometry *geometry; /* owned; instead of a tensor */
  struct st_saved *list;  /* owned, value.len of them: a list of tensors */
  st_node *source;        /* owned; where the tensor came from */
  int nr;
  uint32_t version;       /* that it had */
  bool is_result;         /* of the node itself, which is its source */
} st_saved;

/* Copies an argument, or a result. BAD_STATE for an inference tensor. */
st_status st__save(st_saved *s, const st_value *v, bool is_result);
/* For in-place operators: t as it is before it is written. */
st_status st__save_clone(st_saved *s, const st_tensor *t);
/* Sizes and so on of a tensor, or of a list of them. */
st_status st__save_geometry(st_saved *s, const st_value *v);
void st__saved_clear(st_saved *s);
/* Of tensors alone: plain data and geometry stay. */
void st__saved_release(st_saved *s);

/* BAD_STATE when a tensor was written since it was saved (A3). node is the one
 * that saved it; name says what for the message. */
st_status st__saved_check(const st_saved *s, const st_node *node,
                          const char *name);
/* What was saved, checked and owned; a tensor has its history while gradients
 * are recorded. */
st_status st__saved_unpack(const st_saved *s, st_node *node, const char *name,
                           st_value *out);

#endif
