/* Fake tensors: on the meta device, with the sizes, strides, dtype and sharing
 * of storages of others, to find out what a call with those does.
 */
#ifndef ST_ITER_FAKE_TENSORS_H
#define ST_ITER_FAKE_TENSORS_H

#include "dispatch/dispatch.h"

typedef struct st_fake_tensors {
  int n, nlisted;
  bool any_device;
  bool has_layouts;    /* a tensor has another layout than the strided one */
  st_dtype from, to;   /* of tensors that get another dtype */
  const st_tensor **original;
  st_tensor **made;    /* owned */
  st_tensor **listed;  /* borrowed, of list arguments */
  void *block;         /* owns the three arrays */
  size_t size;
} st_fake_tensors;

/* Replaces the tensors of args, those of a call with schema s, by fake ones,
 * and devices by the meta device. The caller releases c after a failure, too.
 * BAD_STATE for tensors on the devices of extensions. */
st_status st__fake_arguments(st_fake_tensors *c, const st_schema *s,
                             st_value *args);
/* The same for tensors on any device and of any layout. Those of dtype `from`
 * become ones of dtype `to`. */
st_status st__fake_arguments_as(st_fake_tensors *c, const st_schema *s,
                                st_value *args, st_dtype from, st_dtype to);
void st__fake_tensors_release(st_fake_tensors *c);

#endif
