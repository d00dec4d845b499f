/* DLPack: exchange of tensors with other libraries of the process without a
 * copy.
 *
 * The structures are those of the DLPack standard, version 1.0 and the
 * unversioned ones before it (dmlc.github.io/dlpack). Their layout is an ABI;
 * the names of the fields are those of the standard.
 */
#ifndef ST_TENSOR_DLPACK_H
#define ST_TENSOR_DLPACK_H

#include "tensor/tensor.h"
#include "abi/strided_memory.h"

typedef struct st_dl_device {
  int32_t device_type;       /* ST_DL_CPU, or that of another device */
  int32_t device_id;
} st_dl_device;

typedef struct st_dl_type {
  uint8_t code;              /* of st_dtype_facts */
  uint8_t bits;              /* of the whole element: 64 for complex64 */
  uint16_t lanes;            /* 1, unless elements are short vectors */
} st_dl_type;

typedef struct st_dl_tensor {
  void *data;
  st_dl_device device;
  int32_t ndim;
  st_dl_type dtype;
  int64_t *shape;
  int64_t *strides;          /* in elements; NULL: row-major, compact */
  uint64_t byte_offset;      /* from data to the first element */
} st_dl_tensor;

struct DLManagedTensor {
  st_dl_tensor dl_tensor;
  void *manager_ctx;         /* of the producer */
  void (*deleter)(struct DLManagedTensor *self); /* or NULL */
};

struct DLManagedTensorVersioned {
  struct { uint32_t major, minor; } version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  st_dl_tensor dl_tensor;
};

enum { ST_DL_CPU = 1, ST_DL_MAJOR = 1, ST_DL_MINOR = 0 };
/* flags; padded: elements of fewer than eight bits have a byte each */
enum { ST_DL_READ_ONLY = 1, ST_DL_IS_COPIED = 2, ST_DL_IS_PADDED = 4 };

#endif
