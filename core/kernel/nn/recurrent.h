/* Operands of the loops of kernel/nn/recurrent.c: n1 rows of n0 units of a
 * recurrent layer. The elements of a row are adjacent. Operands do not overlap.
 *
 *   gate_sum        out, a, b: out = a + (b + bias); ctx: bias or NULL
 *   gru_new         n, h, a, b, r: h = b + bias, n = a + h r; ctx: the same
 *   gru_hidden      h, out, n, z: h = (h - n) z + n, also to out
 *   lstm_cell       c, i, f, g: c = c f + i g
 *   lstm_hidden     h, out, o, t: h = o t, also to out
 *
 * Gradients: dh is that of the state after the step and becomes that part of
 * the state before it which does not go through gates; dout is that of the
 * output. Of the rows `gates`, `hidden` and `saved` each unit has one element
 * per gate, gate after gate, n0 apart. saved: what the step has kept, Note
 * [What a recurrent layer keeps].
 *
 *   gru_backward    dh, dout, gates, hidden, saved
 *   lstm_backward   dh, dc, dout, gates, saved
 *   rnn_backward    dh, dout, gates, saved; ctx: NULL for tanh, else for relu
 */
#ifndef ST_KERNEL_NN_RECURRENT_H
#define ST_KERNEL_NN_RECURRENT_H

#endif
