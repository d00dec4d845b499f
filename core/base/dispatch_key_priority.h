/* Dispatch keys in their priority: the bits of key sets and their names (K1 to
 * K3). Operations on key sets are in dispatch/keyset.h.
 *
 * Note [Functionality and backend]
 * A key set has two kinds of bits. The low 14 stand for backends, the bits
 * above for functionalities; a higher bit has priority. A per-backend
 * functionality (Dense, Quantized, Sparse, NestedTensor, Autograd) and a
 * backend bit make a runtime key: Dense and CPU are "CPU", Autograd and CPU
 * are "AutogradCPU".
 */
#ifndef ST_BASE_DISPATCH_KEY_PRIORITY_H
#define ST_BASE_DISPATCH_KEY_PRIORITY_H

#include "abi/types.h"

/* ORDER BACKEND: bit number and index in a per-backend block of slots. */
#define ST_BACKEND_MAP(X) \
  X(CPU) X(CUDA) X(HIP) X(XLA) X(MPS) X(IPU) X(XPU) X(HPU) X(VE) X(Lazy)  \
  X(Meta) X(PrivateUse1) X(PrivateUse2) X(PrivateUse3)

/* ORDER FUNCTIONALITY: from low to high priority. The second column is 1 if
 * the functionality has one runtime key per backend. */
#define ST_FUNCTIONALITY_MAP(X) \
  X(Dense, 1) X(FPGA, 0) X(ORT, 0) X(Vulkan, 0) X(Metal, 0)                \
  X(Quantized, 1) X(CustomRNGKeyId, 0) X(MkldnnCPU, 0) X(Sparse, 1)        \
  X(SparseCsrCPU, 0) X(SparseCsrCUDA, 0) X(NestedTensor, 1) X(SubByte, 0)  \
  X(BackendSelect, 0) X(Lua, 0) X(Fake, 0)                                 \
  X(FuncTorchDynamicLayerBackMode, 0) X(Functionalize, 0) X(Named, 0)      \
  X(Conjugate, 0) X(Negative, 0) X(ZeroTensor, 0) X(ADInplaceOrView, 0)    \
  X(AutogradOther, 0) X(Autograd, 1) X(AutogradNestedTensor, 0)            \
  X(Tracer, 0) X(AutocastCPU, 0) X(AutocastXPU, 0) X(AutocastCUDA, 0)      \
  X(FuncTorchBatched, 0) X(FuncTorchVmapMode, 0) X(Batched, 0)             \
  X(VmapMode, 0) X(FuncTorchGradWrapper, 0) X(DeferredInit, 0)             \
  X(LuaTLSSnapshot, 0) X(FuncTorchDynamicLayerFrontMode, 0)                \
  X(TESTING_ONLY_GenericWrapper, 0) X(TESTING_ONLY_GenericMode, 0)         \
  X(LuaDispatcher, 0)

enum {
#define ST_BACKEND_ENUM(name) ST_BACKEND_##name,
  ST_BACKEND_MAP(ST_BACKEND_ENUM)
#undef ST_BACKEND_ENUM
  ST_BACKEND_COUNT
};

/* Bit numbers of the functionalities. */
enum {
  ST_FUNC_BEFORE_FIRST = ST_BACKEND_COUNT - 1,
#define ST_FUNC_ENUM(name, per_backend) ST_FUNC_##name,
  ST_FUNCTIONALITY_MAP(ST_FUNC_ENUM)
#undef ST_FUNC_ENUM
  ST_FUNC_END
};

#define ST_BIT(n) ((st_keyset)1 << (n))
#define ST_BACKEND_BITS (ST_BIT(ST_BACKEND_COUNT) - 1)

/* The bits of the key for which kernels of a device are registered. */
static inline st_keyset st__device_keys(st_device device) {
  static const uint8_t backend[ST_DEVICE_COUNT] = {
    ST_BACKEND_CPU, ST_BACKEND_Meta, ST_BACKEND_PrivateUse1,
    ST_BACKEND_PrivateUse2, ST_BACKEND_PrivateUse3 };
  return ST_BIT(ST_FUNC_Dense) | ST_BIT(backend[ST_DEVICE_KIND(device)]);
}

/* Keys that new tensors of this thread do not get: in inference mode those
 * that track versions and views. */
extern _Thread_local st_keyset st__untracked_keys;

/* The keys of a new tensor outside of inference mode. */
static inline st_keyset st__tracked_tensor_keys(st_device device) {
  const st_keyset autocast = device == ST_DEVICE_CPU
                             ? ST_BIT(ST_FUNC_AutocastCPU) : 0;
  return st__device_keys(device) | ST_BIT(ST_FUNC_ADInplaceOrView) | autocast;
}

/* The keys of a new tensor of a device (K9). The Autograd key is not among
 * them: only tensors that require a gradient have it. */
static inline st_keyset st__tensor_keys(st_device device) {
  return st__tracked_tensor_keys(device) & ~st__untracked_keys;
}

/* The keys of lazy tensors: Note [Lazy tensors]. */
#define ST_LAZY_BITS                                            \
  (ST_BIT(ST_FUNC_Conjugate) | ST_BIT(ST_FUNC_Negative) |       \
   ST_BIT(ST_FUNC_ZeroTensor))

/* The Autograd keys. */
#define ST_AUTOGRAD_BITS                                        \
  (ST_BIT(ST_FUNC_AutogradOther) | ST_BIT(ST_FUNC_Autograd) |   \
   ST_BIT(ST_FUNC_AutogradNestedTensor))

/* The Autocast keys. */
#define ST_AUTOCAST_BITS                                        \
  (ST_BIT(ST_FUNC_AutocastCPU) | ST_BIT(ST_FUNC_AutocastXPU) |  \
   ST_BIT(ST_FUNC_AutocastCUDA))

#endif
