/* What the engine chooses by the machine. A choice changes how long a loop
 * takes, never its result; Note [Pairwise reduction tree] and other promises of
 * bits have constants of their own.
 */
#ifndef ST_OS_MACHINE_H
#define ST_OS_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/types.h"

/* Choices that size arrays, or that are the same for all machines. */
enum {
#define ST_FIXED(name, value) ST_FIXED_##name = (value),
#define ST_DETECTED(name, value)
#include "os/machine.def"
#undef ST_FIXED
#undef ST_DETECTED
};

/* Choices made at start, and constant from then on. */
typedef struct st_machine_choices {
#define ST_FIXED(name, value)
#define ST_DETECTED(name, value) int64_t name;
#include "os/machine.def"
#undef ST_FIXED
#undef ST_DETECTED
} st_machine_choices;

extern st_machine_choices st__machine;

/* Fills st__machine. Called by st_init, before any loop runs. */
void st__machine_detect(void);
/* Name and value of choice i, in the order of machine.def; NULL after the
 * last. */
ST_API const char *st_machine_choice(int i, int64_t *value);

#endif
