/* Part of strided.h: plans, that is, built iterators that can be inspected and
 * run by hand.
 */
#ifndef STRIDED_PLAN_H
#define STRIDED_PLAN_H

/* -- Plans ---------------------------------------------------------------- */

/* The flags and the static dtype of a kind of operator: "default", "unary",
 * "unary_float", "force_boolean", "binary", "binary_float", "comparison",
 * "ternary", "nullary", "reduce", "copy". BAD_VALUE for another name. */
ST_API st_status st_plan_preset(const char *name, uint32_t *flags,
                                st_dtype *static_dtype);
/* The name of preset k; NULL past the last. */
ST_API const char *st_plan_preset_name(int k);

/* Builds an iterator. NULL outputs are allocated, others may be resized.
 * Pointers into a plan live as long as it does; a plan must be used by one
 * thread at a time. Errors: those of an elementwise operator on these operands
 * (BAD_SHAPE, BAD_DTYPE, OVERLAP, NO_MEMORY), and BAD_VALUE for an invalid
 * config. */
ST_API st_status st_plan_new(const st_plan_config *config, st_plan **out);
ST_API void st_plan_release(st_plan **p);
/* Pointers in it are valid until the plan changes. */
ST_API st_plan_facts st_plan_facts_of(const st_plan *p);
ST_API const int64_t *st_plan_strides(const st_plan *p,
                                      int operand); /* in bytes */
/* Output i, owned by the caller; NULL if out of range. */
ST_API st_tensor *st_plan_output(const st_plan *p, int i);
/* Step k of the 2-d loops over elements [begin, end): its sizes and the byte
 * offset of each operand. False if there is no such step. */
ST_API bool st_plan_step(const st_plan *p, int64_t begin, int64_t end,
                         int64_t k, int64_t size[2], int64_t *offsets);
/* Operand i as the loops access it; BAD_INDEX. */
ST_API st_status st_plan_operand_info(const st_plan *p, int i,
                                      st_plan_operand *out);
/* The place of operand i's first element. The block is NULL for the copy of a
 * scalar, which st_plan_get reads, on the meta device, and if i is out of
 * range. */
ST_API st_place st_plan_place(const st_plan *p, int i);
/* The present addresses of the elements at a step's offsets. BAD_INDEX when the
 * step is outside a storage, for example after the storage was shrunk;
 * BAD_STATE for memory that the CPU cannot access. */
ST_API st_status st_plan_data(const st_plan *p, const int64_t size[2],
                              const int64_t *offsets, void **data);
/* Reads or writes the element of operand i that is offset bytes from its first
 * one; inputs cannot be written. BAD_INDEX outside its storage, BAD_STATE for
 * memory that the CPU cannot access, BAD_VALUE when the dtype cannot hold the
 * value. */
ST_API st_status st_plan_get(const st_plan *p, int i, int64_t offset,
                             st_scalar *out);
ST_API st_status st_plan_set(st_plan *p, int i, int64_t offset,
                             st_scalar value);
/* Copies the outputs that loops write in another dtype to the tensors of the
 * caller. */
ST_API st_status st_plan_cast_outputs(st_plan *p);
/* Narrows a dimension to `size` indices from start. A dimension of size 1 is
 * dropped, except in a reduction. BAD_DIM, BAD_INDEX. */
ST_API st_status st_plan_narrow(st_plan *p, int dim, int64_t start,
                                int64_t size);
/* *first gets the first half of a dimension, p keeps the second. BAD_DIM;
 * BAD_INDEX for a size below 2. */
ST_API st_status st_plan_split(st_plan *p, int dim, st_plan **first);
/* Splits p until all offsets fit 32 bits and calls fn for each part, in order;
 * p becomes the last part. Fails with the status of fn. */
ST_API st_status st_plan_with_32bit(st_plan *p, st_plan_fn fn, void *ctx);
/* The operands after it move up. BAD_INDEX; BAD_VALUE for the only operand. */
ST_API st_status st_plan_remove_operand(st_plan *p, int i);
/* Operand i starts at the first element of t from now on, with the operand's
 * strides, whatever the shape of t. BAD_INDEX; BAD_DTYPE when t has another
 * dtype. */
ST_API st_status st_plan_replace_operand(st_plan *p, int i, st_tensor *t);

/* A dry run: the iterators that a call with these arguments would run, without
 * running them. Writes the first `room` plans, owned by the caller, and sets
 * *count to the number of all. Fails as the call would; BAD_STATE when the
 * iterators depend on elements. *count is 0 also when the kernels are not the
 * engine's. */
ST_API st_status st_plan_call(const st_op *op, int n, const st_value *args,
                              st_plan **plans, int room, int *count);

/* The range of thread k when a team of `threads` runs n units of work: a thread
 * takes chunks of its own range first, then steals from the others. False if k
 * is past the last. */
ST_API bool st_chunk(int64_t n, int64_t grain, int threads, int k,
                     int64_t *begin, int64_t *end);

#endif
