/* Part of strided.h: what the iterator would do.
 */
#ifndef STRIDED_PLAN_H
#define STRIDED_PLAN_H

/* -- Seeing --------------------------------------------------------------- */

/* The flags and the static dtype that operators of a kind use: "default",
 * "unary", "unary_float", "force_boolean", "binary", "binary_float",
 * "comparison", "ternary", "nullary", "reduce", "copy". BAD_VALUE. */
ST_API st_status st_plan_preset(const char *name, uint32_t *flags,
                                st_dtype *static_dtype);
/* The name of preset k, NULL behind the last. */
ST_API const char *st_plan_preset_name(int k);

/* NULL outputs are allocated, given ones may be resized. Pointers into a plan
 * live as long as it does; one plan is for one thread at a time. Errors:
 * those of an elementwise operator on these operands (BAD_SHAPE, BAD_DTYPE,
 * OVERLAP, NO_MEMORY), BAD_VALUE for a config that makes no sense. */
ST_API st_status st_plan_new(const st_plan_config *config, st_plan **out);
ST_API void st_plan_release(st_plan **p);
/* Pointers in it are good until the plan changes. */
ST_API st_plan_facts st_plan_facts_of(const st_plan *p);
ST_API const int64_t *st_plan_strides(const st_plan *p,
                                      int operand); /* in bytes */
/* Output i, owned by the caller. */
ST_API st_tensor *st_plan_output(const st_plan *p, int i);
/* Step k of the 2-d calls for elements [begin, end): sizes and the byte
 * offset of every operand. False when there is no such step. */
ST_API bool st_plan_step(const st_plan *p, int64_t begin, int64_t end,
                         int64_t k, int64_t size[2], int64_t *offsets);
/* What loops meet as operand i; BAD_INDEX. */
ST_API st_status st_plan_operand_info(const st_plan *p, int i,
                                      st_plan_operand *out);
/* Where the elements at a step's offsets lie now. BAD_INDEX when the step
 * leaves a storage, as after that shrank; BAD_STATE without memory here. */
ST_API st_status st_plan_data(const st_plan *p, const int64_t size[2],
                              const int64_t *offsets, void **data);
/* The element of operand i, offset bytes from its first one; inputs cannot be
 * set. BAD_INDEX outside of its storage, BAD_STATE without memory here,
 * BAD_VALUE when the dtype cannot hold the value. */
ST_API st_status st_plan_get(const st_plan *p, int i, int64_t offset,
                             st_scalar *out);
ST_API st_status st_plan_set(st_plan *p, int i, int64_t offset,
                             st_scalar value);
/* Copies outputs that loops write as another dtype to where they belong. */
ST_API st_status st_plan_cast_outputs(st_plan *p);
/* Leaves `size` positions of a dimension, from start on. A dimension of one
 * position goes away, but in a reduction. BAD_DIM, BAD_INDEX. */
ST_API st_status st_plan_narrow(st_plan *p, int dim, int64_t start,
                                int64_t size);
/* *first becomes the first half of a dimension, p the second one. BAD_DIM,
 * BAD_INDEX without two positions. */
ST_API st_status st_plan_split(st_plan *p, int dim, st_plan **first);
/* Calls fn for parts of p whose offsets fit 32 bits, in order; p becomes the
 * last one. Fails with what fn returns. */
ST_API st_status st_plan_with_32bit(st_plan *p, st_plan_fn fn, void *ctx);
/* Those behind it move up. BAD_INDEX; BAD_VALUE for the only one. */
ST_API st_status st_plan_remove_operand(st_plan *p, int i);
/* Operand i is found where t begins, whatever t's shape. BAD_INDEX,
 * BAD_DTYPE when its dtype is another. */
ST_API st_status st_plan_replace_operand(st_plan *p, int i, st_tensor *t);

/* What a call with these arguments would walk, without any of it taking place:
 * the first `room` of *count plans. Fails as the call would; BAD_STATE when it
 * cannot be told. *count is 0 also when the kernels are not the engine's. */
ST_API st_status st_plan_call(const st_op *op, int n, const st_value *args,
                              st_plan **plans, int room, int *count);

/* Share k of those that a team of `threads` has of n units of work: each takes
 * his own piece by piece, then helps others. False behind the last. */
ST_API bool st_chunk(int64_t n, int64_t grain, int threads, int k,
                     int64_t *begin, int64_t *end);

#endif
