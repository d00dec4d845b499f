/* Mirrors: arguments of a call on a device, as tensors on the CPU.
 *
 * Note [Mirrors of arguments]
 * The mirror of a tensor has its dtype, sizes and strides. Its storage, on the
 * CPU, has the bytes from the first element to the last; tensors whose bytes
 * overlap have mirrors over one storage, and a tensor that is given twice has
 * one mirror. So a call on mirrors finds what it would find on the device:
 * which arguments are the same, which share memory, which overlap themselves,
 * and a write to one is seen through the others.
 */
#ifndef ST_OP_DEVICE_MIRRORS_H
#define ST_OP_DEVICE_MIRRORS_H

#include "tensor/value.h"

/* Replaces the tensors in v[0..n), owned copies of a call's arguments, that are
 * on devices of extensions by mirrors. */
st_status st__mirror_values(st_value *v, int n);

/* A written argument and its mirror. */
typedef struct st_written {
  st_tensor *there;
  const st_tensor *here;
  st_tensor *was;        /* there, as it was, once it has another shape */
} st_written;

/* Writes mirrors back. A tensor whose mirror was resized gets its sizes and
 * strides. If that fails, or a first copy, the tensors are as before, so
 * whatever needs memory comes before it. Releases w[i].was. */
st_status st__write_mirrors(st_written *w, int n);

#endif
