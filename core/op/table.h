/* The functions that the rows of ops.def name, family by family.
 */
#ifndef ST_OP_TABLE_H
#define ST_OP_TABLE_H

#include "op/argreduce.h"
#include "op/backward.h"
#include "op/copy.h"
#include "op/distance.h"
#include "op/factory.h"
#include "op/index.h"
#include "op/join.h"
#include "op/layers.h"
#include "op/lazy.h"
#include "op/loss.h"
#include "op/matmul.h"
#include "op/numeric.h"
#include "op/op.h"
#include "op/out.h"
#include "op/pointwise.h"
#include "op/products.h"
#include "op/random.h"
#include "op/reduce.h"
#include "op/scan.h"
#include "op/search.h"
#include "op/sort.h"
#include "op/spatial.h"
#include "op/special.h"
#include "op/statistics.h"
#include "op/view.h"

#endif
