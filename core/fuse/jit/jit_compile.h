/* Machine code for programs.
 *
 * Note [Machine code]
 * Instructions whose kernels are plain arithmetic need not write what they
 * compute to the cache for the next one to read it there. So runs of them are
 * compiled: one loop that keeps values in the registers of the processor and
 * writes what others read. What they compute is what the rows of the kernels
 * say (Note [Grammar of kernel expressions]), operation by operation, so
 * results are the same to the bit (where two NaNs meet, either may go on, as in
 * any kernel); vector maths stays with the kernels, between the runs. A program
 * without machine code is the same program: there is none on other processors
 * than x86-64 with AVX2, where the system gives no executable pages, and when
 * it is switched off.
 */
#ifndef ST_FUSE_JIT_JIT_COMPILE_H
#define ST_FUSE_JIT_JIT_COMPILE_H

#include "fuse/ir/program.h"

/* Is machine code made for new programs? Where it can run, unless it is
 * switched off, as STRIDED_JIT=0 does from the start. */
bool st__jit_enabled(void);
/* What it was; for all threads. */
bool st__set_jit(bool is_on);

/* Gives p its runs, if there are any to give. NO_MEMORY. */
st_status st__program_compile(st_program *p);

#endif
