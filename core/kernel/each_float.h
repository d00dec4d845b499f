/* Includes TEMPLATE for float32 and float64: T is the type, F(name) the name of
 * a function of it. TEMPLATE undefines both.
 */

#define T float
#define F(name) name##_f4
#include TEMPLATE

#define T double
#define F(name) name##_f8
#include TEMPLATE

#undef TEMPLATE
