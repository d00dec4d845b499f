/* Includes the declarations of all functions that rows of ops.def name.
 */
#ifndef ST_OP_REGISTRY_ROW_FUNCTIONS_H
#define ST_OP_REGISTRY_ROW_FUNCTIONS_H

#include "op/create/copy.h"
#include "op/create/factory.h"
#include "op/elementwise/activation_backward.h"
#include "op/elementwise/composite_ops.h"
#include "op/elementwise/pointwise.h"
#include "op/elementwise/special.h"
#include "op/index/backward.h"
#include "op/index/index.h"
#include "op/lazy/lazy.h"
#include "op/linalg/cdist.h"
#include "op/linalg/cross_renorm.h"
#include "op/linalg/inner_addr.h"
#include "op/linalg/matmul.h"
#include "op/nn/layers.h"
#include "op/nn/loss.h"
#include "op/nn/softmax.h"
#include "op/nn/spatial.h"
#include "op/numeric/numeric.h"
#include "op/random/random.h"
#include "op/reduce/argmax.h"
#include "op/reduce/composite_ops.h"
#include "op/reduce/cumsum.h"
#include "op/reduce/reduce_ops.h"
#include "op/registry/op.h"
#include "op/registry/out_variants.h"
#include "op/shape/cat_stack.h"
#include "op/shape/slice_scatter.h"
#include "op/shape/view.h"
#include "op/sort/searchsorted.h"
#include "op/sort/sort_topk.h"
#include "op/sort/unique_isin.h"

#endif
