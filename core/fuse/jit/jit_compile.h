/* The JIT compiler: machine code for regions of a program.
 *
 * Stage jit of Note [Stages of fusion]. In: a program (fuse/program.h). Each
 * region is lowered to vector IR (kernel_lowering.h, kernel_parser.h,
 * vector_ir.h), which codegen.h emits. Out: the same program with code and
 * regions, which fuse/ir/interpreter.c calls.
 *
 * Note [Machine code]
 * Instructions whose kernels are arithmetic need not pass values through
 * the cache. So regions of consecutive ones are compiled to one loop each,
 * which keeps values in registers of the processor and stores only those that
 * other instructions read. A region computes the expressions of the kernels'
 * rows (Note [Grammar of kernel expressions]), operation by operation, so
 * results are the same to the bit (of two NaN operands either may be the
 * result, as in any kernel). Vector maths stays in kernels, between the
 * regions. A program without machine code computes the same. There is none on
 * processors without a target (jit_target.h), where the system refuses
 * executable pages, and where it is switched off.
 */
#ifndef ST_FUSE_JIT_JIT_COMPILE_H
#define ST_FUSE_JIT_JIT_COMPILE_H

#include "fuse/program.h"
#include "abi/strided_fuse.h"

/* Compiles the regions of p, if it has any. NO_MEMORY. */
st_status st__program_compile(st_program *p);

#endif
