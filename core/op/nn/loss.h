/* Losses: the functions of section "Losses" in ops.def, and their final
 * reduction.
 */
#ifndef ST_OP_NN_LOSS_H
#define ST_OP_NN_LOSS_H

#include "op/registry/composite.h"

/* The values of `int reduction`. ORDER REDUCTION:
 * lua/bind/call/argument_convert.c */
enum { ST_REDUCE_NONE, ST_REDUCE_MEAN, ST_REDUCE_SUM };

/* Starts the op scope of a loss; its status is BAD_VALUE if the argument
 * reduction is invalid. */
st_op_scope st__loss_begin(const st_value *reduction);
/* Reduces loss, a result in scope c, and ends the scope. */
st_status st__loss_end(st_op_scope *c, st_tensor *loss,
                       const st_value *reduction, st_value *rets);

/* -- Between tensors and margins (loss.c) --------------------------------- */

ST_BOXED(st__box_mse_loss);
ST_BOXED(st__box_l1_loss);
ST_BOXED(st__box_huber_loss);
ST_BOXED(st__box_smooth_l1_loss);
ST_BOXED(st__box_kl_div);
ST_BOXED(st__box_poisson_nll_loss);
ST_BOXED(st__box_soft_margin_loss);
ST_BOXED(st__box_hinge_embedding_loss);
ST_BOXED(st__box_margin_ranking_loss);
ST_BOXED(st__box_cosine_embedding_loss);
ST_BOXED(st__box_triplet_margin_loss);

/* -- Over classes (cross_entropy.c) --------------------------------------- */

ST_BOXED(st__box_nll_loss);
ST_BOXED(st__box_cross_entropy_loss);
ST_BOXED(st__box_binary_cross_entropy_each);
ST_BOXED(st__box_binary_cross_entropy);
ST_BOXED(st__box_binary_cross_entropy_with_logits);

#endif
