/* Operands and ctx of the loops of kernel/nn/attention.c. The weights of a
 * block of queries and keys: a row for each key, a column for each query;
 * columns are adjacent. n0: columns, n1: rows, unless said otherwise. Loops
 * compute whole groups of ST_ATTENTION_PAD columns: rows have room for them.
 *
 * attention_weights: operands x, max, sum, factor, the last three with an
 *   element per column; sums are double. Replaces max by the maximum of max and
 *   the column, x by e = exp(x - max), factor by exp(old max - max), and sum by
 *   sum factor + the sum of e. Where max is -infinity, 0 stands for it.
 * attention_slopes: operands p, d, lse, dot: p = exp(p - lse),
 *   d = p (d - dot).
 * attention_mask: operands x, mask; both strides of both. x becomes -infinity
 *   where the mask is -infinity, x + mask elsewhere. ctx: whether the mask is
 *   bool, and -infinity belongs where it is false; NULL: it is not.
 * attention_dots: operands dot, a, b: the products of n1 rows of n0 adjacent
 *   elements, summed up.
 */
#ifndef ST_KERNEL_NN_ATTENTION_H
#define ST_KERNEL_NN_ATTENTION_H

enum { ST_ATTENTION_PAD = 32 };

#endif
