/* The steps of recurrent layers between products of matrices and activations.
 * They round as the operators do that PyTorch composes them of.
 */

#include "kernel/nn/recurrent.h"

#include "kernel/loop.h"

#define TEMPLATE "kernel/nn/recurrent_template.h"
#include "kernel/each_float.h"

/* -- Table ---------------------------------------------------------------- */

#define SLOTS(name) \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8}},

static const st_kernel_row rows[] = {
  SLOTS(gate_sum) SLOTS(gru_new) SLOTS(gru_hidden) SLOTS(lstm_cell)
  SLOTS(lstm_hidden) SLOTS(gru_backward) SLOTS(lstm_backward)
  SLOTS(rnn_backward)
};

ST_EXPORT(st__recurrent, rows)
