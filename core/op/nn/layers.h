/* Layers other than convolutions and pooling: the functions of section "Layers"
 * in ops.def.
 */
#ifndef ST_OP_NN_LAYERS_H
#define ST_OP_NN_LAYERS_H

#include "op/registry/op.h"

/* -- embedding.c, glu.c, dropout.c ---------------------------------------- */

ST_BOXED(st__box_embedding);
ST_BOXED(st__box_one_hot);
ST_BOXED(st__box_glu);
ST_BOXED(st__box_dropout);
ST_BOXED(st__box_dropout_);
ST_BOXED(st__box_feature_dropout);
ST_BOXED(st__box_native_dropout);

/* -- Normalisation (normalization.c) -------------------------------------- */

ST_BOXED(st__box_layer_norm_forward);
ST_BOXED(st__box_layer_norm_backward);
ST_BOXED(st__box_layer_norm_double_backward);
ST_BOXED(st__box_native_layer_norm);
ST_BOXED(st__box_layer_norm);
ST_BOXED(st__box_rms_norm);
ST_BOXED(st__box_native_group_norm);
ST_BOXED(st__box_group_norm);
ST_BOXED(st__box_batch_norm);
ST_BOXED(st__box_instance_norm);

/* -- Attention (attention.c) ---------------------------------------------- */

ST_BOXED(st__box_scaled_dot_product_attention);

#endif
