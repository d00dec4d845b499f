/* The steps of recurrent layers between products of matrices and activations.
 * They round as the operators do that PyTorch composes them of.
 */

#include "kernel/nn/recurrent.h"

#include "kernel/loop.h"

#define TEMPLATE "kernel/nn/recurrent_template.h"
#include "kernel/each_float.h"

/* -- Table ---------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  ST_FLOATS(gate_sum), ST_FLOATS(gru_new), ST_FLOATS(gru_hidden),
  ST_FLOATS(lstm_cell), ST_FLOATS(lstm_hidden), ST_FLOATS(gru_backward),
  ST_FLOATS(lstm_backward), ST_FLOATS(rnn_backward),
};

ST_EXPORT(st__recurrent, rows)
