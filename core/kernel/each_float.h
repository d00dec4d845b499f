/* Includes TEMPLATE for float32 and float64: T is the type, INT an integer as
 * wide, F(name) the name of a function, type or constant for it, and M(name) a
 * function of math.h. What else TEMPLATE defines is the same for both.
 */

#define T float
#define INT int32_t
#define F(name) name##_f4
#define M(name) name##f
#include TEMPLATE
#undef T
#undef INT
#undef F
#undef M

#define T double
#define INT int64_t
#define F(name) name##_f8
#define M(name) name
#include TEMPLATE
#undef T
#undef INT
#undef F
#undef M

#undef TEMPLATE
