/* What a call costs in PyTorch from C++: the cases of overhead.c against the
 * libtorch of a Python package.
 *
 *     overhead [PART OF A CASE'S NAME]
 *
 * PyTorch is measured at its best: the operators that do nothing let every
 * key fall through that they do not need (without that, a fallback boxes each
 * call for Autograd), and what autograd's own kernels cost is seen by the
 * cases "in inference mode", whose tensors have no autograd keys.
 */
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/version.h>

#include "sample.h"

/* -- Operators that do nothing -------------------------------------------- */

using Handle = c10::TypedOperatorHandle<void(const at::Tensor &)>;

static c10::OperatorHandle find(const char *name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

static void nop_boxed(const c10::OperatorHandle &, torch::jit::Stack *stack) {
  torch::jit::drop(*stack, 1);
}

static void nop_unboxed(const at::Tensor &) {}

/* One key above the nop: passes the call on. */
static void hop_boxed(const c10::OperatorHandle &op, c10::DispatchKeySet ks,
                      torch::jit::Stack *stack) {
  op.redispatchBoxed(ks & c10::after_ADInplaceOrView_keyset, stack);
}

static void hop_unboxed(c10::DispatchKeySet ks, const at::Tensor &x) {
  static const Handle op =
    find("bench::unboxed_hop").typed<void(const at::Tensor &)>();
  op.redispatch(ks & c10::after_ADInplaceOrView_keyset, x);
}

TORCH_LIBRARY(bench, m) {
  m.def("boxed(Tensor x) -> ()");
  m.def("unboxed(Tensor x) -> ()");
  m.def("boxed_hop(Tensor x) -> ()");
  m.def("unboxed_hop(Tensor x) -> ()");
}

TORCH_LIBRARY_IMPL(bench, CPU, m) {
  m.impl("boxed", torch::CppFunction::makeFromBoxedFunction<&nop_boxed>());
  m.impl("unboxed", nop_unboxed);
  m.impl("boxed_hop",
         torch::CppFunction::makeFromBoxedFunction<&nop_boxed>());
  m.impl("unboxed_hop", nop_unboxed);
}

TORCH_LIBRARY_IMPL(bench, ADInplaceOrView, m) {
  m.impl("boxed_hop",
         torch::CppFunction::makeFromBoxedFunction<&hop_boxed>());
  m.impl("unboxed_hop", hop_unboxed);
}

TORCH_LIBRARY_IMPL(bench, Autograd, m) {
  for (const char *op : {"boxed", "unboxed", "boxed_hop", "unboxed_hop"}) {
    m.impl(op, torch::CppFunction::makeFallthrough());
  }
}

/* -- Calls ---------------------------------------------------------------- */

struct Operands { at::Tensor a, b, out; };

static Operands make_operands() {
  return {at::zeros({1}), at::zeros({1}), at::zeros({1})};
}

static void measure_boxed(const char *only, const Operands &t,
                          const char *name, const char *op) {
  struct Call { c10::OperatorHandle op; const Operands &t; };
  const Call call = {find(op), t};
  sample(only, name, [](const void *ctx, int64_t n) {
    const Call &c = *static_cast<const Call *>(ctx);
    torch::jit::Stack stack;
    while (n-- > 0) {
      stack.push_back(c.t.a);
      c.op.callBoxed(&stack);
    }
  }, &call);
}

static void measure_unboxed(const char *only, const Operands &t,
                            const char *name, const char *op) {
  struct Call { Handle op; const Operands &t; };
  const Call call = {find(op).typed<void(const at::Tensor &)>(), t};
  sample(only, name, [](const void *ctx, int64_t n) {
    const Call &c = *static_cast<const Call *>(ctx);
    while (n-- > 0) c.op.call(c.t.a);
  }, &call);
}

static void run_boxed_add(const void *ctx, int64_t n) {
  const Operands &t = *static_cast<const Operands *>(ctx);
  const auto op =
    c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  torch::jit::Stack stack;
  while (n-- > 0) {
    stack.push_back(t.a);
    stack.push_back(t.b);
    stack.push_back(1);
    op.callBoxed(&stack);
    stack.clear();
  }
}

static void run_add(const void *ctx, int64_t n) {
  const Operands &t = *static_cast<const Operands *>(ctx);
  while (n-- > 0) at::Tensor sum = at::add(t.a, t.b);
}

static void run_add_inplace(const void *ctx, int64_t n) {
  const Operands &t = *static_cast<const Operands *>(ctx);
  while (n-- > 0) t.a.add_(t.b);
}

static void run_alias(const void *ctx, int64_t n) {
  const Operands &t = *static_cast<const Operands *>(ctx);
  while (n-- > 0) at::Tensor view = at::alias(t.a);
}

static void run_view(const void *ctx, int64_t n) {
  const Operands &t = *static_cast<const Operands *>(ctx);
  while (n-- > 0) at::Tensor view = t.a.view({1, 1});
}

/* -- The program ---------------------------------------------------------- */

static void measure_dispatcher(const char *only, const Operands &t) {
  measure_boxed(only, t, "boxed call, boxed kernel", "bench::boxed");
  measure_boxed(only, t, "boxed call, unboxed kernel", "bench::unboxed");
  measure_boxed(only, t, "boxed call and hop", "bench::boxed_hop");
  measure_unboxed(only, t, "unboxed call, unboxed kernel", "bench::unboxed");
  measure_unboxed(only, t, "unboxed call, boxed kernel", "bench::boxed");
  measure_unboxed(only, t, "unboxed call and hop", "bench::unboxed_hop");
}

static void measure_operators(const char *only, const Operands &t) {
  sample(only, "empty(1)", [](const void *, int64_t n) {
    while (n-- > 0) at::Tensor made = at::empty({1});
  }, nullptr);
  sample(only, "add(a, b), boxed", run_boxed_add, &t);
  sample(only, "add(a, b)", run_add, &t);
  sample(only, "add_(a, b)", run_add_inplace, &t);
  sample(only, "add_out(out, a, b)", [](const void *ctx, int64_t n) {
    Operands o = *static_cast<const Operands *>(ctx);
    while (n-- > 0) at::add_out(o.out, o.a, o.b);
  }, &t);
  sample(only, "alias(a)", run_alias, &t);
  sample(only, "view(a, {1, 1})", run_view, &t);
}

static void measure_inference(const char *only) {
  const c10::InferenceMode guard;
  const Operands t = make_operands();
  sample(only, "add(a, b), in inference mode", run_add, &t);
  sample(only, "add_(a, b), in inference mode", run_add_inplace, &t);
  sample(only, "alias(a), in inference mode", run_alias, &t);
  sample(only, "view(a, {1, 1}), in inference mode", run_view, &t);
}

int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : nullptr;
  const Operands t = make_operands();
  at::set_num_threads(1);
  printf("{\"about\": \"libtorch %s\"}\n", TORCH_VERSION);
  measure_dispatcher(only, t);
  measure_operators(only, t);
  measure_inference(only);
  return 0;
}
