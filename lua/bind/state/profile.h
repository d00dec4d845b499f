/* The data of a profile: what profile_record.c writes and profile_read.c reads.
 */
#ifndef ST_LUA_STATE_PROFILE_H
#define ST_LUA_STATE_PROFILE_H

#include "state/engine.h"

enum {
  ST_PROFILE_DEPTH = 256,   /* open calls; deeper ones are not recorded */
  ST_PROFILE_WORDS = 64,    /* of a key; what exceeds it is left out */
  ST_PROFILE_NONE = -1
};

/* The words of a tensor in a key: a head, then its sizes. A head of dtype
 * stands for an argument that is a dtype. */
typedef struct st__key_head {
  uint8_t kind;             /* TENSOR, MISSING or DTYPE */
  uint8_t dtype, ndim;
  bool is_contiguous;
  uint32_t unused;
} st__key_head;
enum { ST_KEY_TENSOR = 1, ST_KEY_MISSING, ST_KEY_DTYPE };

/* Words that identify a row. */
typedef struct st__profile_key {
  int n;
  uint64_t words[ST_PROFILE_WORDS];
} st__profile_key;

/* All calls of one operator, or of one operator with arguments of the same
 * shapes by the same caller. Times in nanoseconds. */
typedef struct st__profile_row {
  const st_op *op;          /* NULL: what `name` says */
  char *name;               /* owned; NULL for an operator */
  uint64_t *key;            /* owned, nkey words */
  char *where;              /* owned: the line of the first call, or NULL */
  uint32_t hash;
  int nkey, group, parent;  /* rows of the operator and of its caller */
  int open;                 /* calls that are running */
  int64_t calls, total, self, bytes, self_bytes;
} st__profile_row;

typedef struct st__profile_event {
  int row, depth;
  int64_t start, time, bytes;
} st__profile_event;

typedef struct st__profile_frame {
  int row, group;           /* ST_PROFILE_NONE: not recorded */
  int64_t start, inner;     /* time; that of the calls inside */
  int64_t live, inner_bytes;
} st__profile_frame;

struct st__profile {
  st_observer observer;
  st__state *h;
  pthread_t thread;
  st__profile *outer;       /* in h->profile */
  bool is_running, has_shapes;
  int64_t start, stop;
  st__profile_row *rows;
  int nrows, row_room;
  int *slots, nslots;       /* hash table of rows; 0: free, else row + 1 */
  st__profile_event *events;
  int64_t nevents, event_room, event_limit;
  int64_t lost;             /* calls that no event or no row was found for */
  st__profile_frame stack[ST_PROFILE_DEPTH];
  int depth;
};

/* Nanoseconds of a clock that only goes forward. */
int64_t st__profile_now(void);
/* Adds the dtypes and shapes of a call's arguments to a key. */
void st__profile_add(st__profile_key *k, const st_op *op,
                     const st_value *args);

/* What is known of a call's arguments besides their shapes. */
typedef struct st__profile_args {
  int ntensors, nstrided;  /* tensors; those that are not contiguous */
  int64_t numel;           /* of the largest tensor */
  const char *from, *to;   /* dtypes: of the first tensor, and a dtype */
} st__profile_args;

/* Pushes the n words that st__profile_add has added as a text, such as
 * "float32 {2, 3}, float32 {3}". [+1] */
void st__profile_push_args(lua_State *L, const uint64_t *words, int n,
                           st__profile_args *out);

/* Starts to record the calls of this thread. */
void st__profile_start(st__profile *p);
/* Ends it; calls that are running end now for the profile. */
void st__profile_stop(st__profile *p);
/* The Lua state drops a profile that another thread still runs. */
void st__profile_abandon(st__profile *p);
void st__profile_free(st__profile *p);

#endif
