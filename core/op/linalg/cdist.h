/* Distances between vectors: the operators of section "Distances" of ops.def.
 */
#ifndef ST_OP_LINALG_CDIST_H
#define ST_OP_LINALG_CDIST_H

#include "op/registry/op.h"

ST_BOXED(st__box_dist);
ST_BOXED(st__box_pairwise_distance);
ST_BOXED(st__box_cosine_similarity);
ST_BOXED(st__box_cdist);
ST_BOXED(st__box_cdist_forward);
ST_BOXED(st__box_cdist_backward);
ST_BOXED(st__box_pdist);

#endif
