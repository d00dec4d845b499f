/* Computes the slot of a dispatch table from a key set, in a few instructions
 * (K4), because every call does so.
 */
#ifndef ST_DISPATCH_SLOT_H
#define ST_DISPATCH_SLOT_H

#include "dispatch/keyset.h"

/* Indexed by bit number: the first slot of a functionality, and the backend
 * bits that select one of its slots. The rules of backend bits are zero, so
 * that a set without functionality bits has slot 0, Undefined. */
typedef struct st_slot_rule { uint8_t first; uint16_t backends; } st_slot_rule;
extern const st_slot_rule st__slot_rules[64];

/* The number of the highest bit; 0 for an empty set. */
static inline int st__highest_bit(uint64_t bits) {
  return 63 - __builtin_clzll(bits | 1);
}

/* The highest backend bit; CPU if there is none. */
static inline int st__highest_backend(st_keyset ks) {
  return st__highest_bit(ks & ST_BACKEND_BITS);
}

static inline st_key st__highest_slot(st_keyset ks) {
  const st_slot_rule rule = st__slot_rules[st__highest_bit(ks)];
  return rule.first + st__highest_bit(ks & rule.backends);
}

#endif
