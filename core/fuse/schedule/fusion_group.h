/* Pieces on their way, between fusion_group.c, which chooses their calls, and
 * build_schedule.c, which makes steps of them.
 */
#ifndef ST_FUSE_SCHEDULE_FUSION_GROUP_H
#define ST_FUSE_SCHEDULE_FUSION_GROUP_H

#include "fuse/schedule/schedule.h"

enum { ST_PIECE_CALLS = 256, NOTHING = -1 };

/* Calls that run together, in order; a group that is no piece has one. */
typedef struct st_group {
  bool is_piece;
  int level;                 /* Note [Levels] */
  const st_tensor *like;     /* of the results' sizes */
  int ncalls, nin;
  int in[ST_GRAPH_INPUTS];   /* values from outside */
} st_group;

/* Some calls as a piece on its way. */
typedef struct st_piece {
  int n, nin, nout;
  int calls[ST_PIECE_CALLS];
  int in[ST_GRAPH_INPUTS], out[ST_GRAPH_OUTPUTS];
  int place[ST_RECORD_VALUES];  /* tensors of the graph; of its values only */
} st_piece;

typedef struct st_pieces {
  const st_rehearsal *r;
  st_steps *s;
  int ngroups;
  bool has_others;               /* than pointwise calls */
  bool is_pointwise[ST_RECORD_CALLS], is_needed[ST_RECORD_CALLS];
  bool is_wanted[ST_RECORD_VALUES], is_output[ST_RECORD_VALUES];
  int level_of[ST_RECORD_CALLS], group_of[ST_RECORD_CALLS];
  int random_level;              /* of the last call that draws numbers */
  int order[ST_RECORD_CALLS];    /* of the groups */
  st_group groups[ST_RECORD_CALLS];
  st_piece piece;
} st_pieces;

/* The k-th tensor that a call reads; NOTHING behind the last, or where a list
 * has a gap: then *more is set. */
int st__nth_read(const st_recorded_call *c, int k, bool *more);
bool st__reads(const st_recorded_call *c, int v);
/* What b->piece reads and gives; false when that is too much. */
bool st__find_ends(st_pieces *b);
/* b->piece as a graph. */
st_status st__piece_graph(st_pieces *b, st_graph **out);

/* Puts all calls that are needed into groups; b->order is theirs. */
st_status st__group_calls(st_pieces *b);

#endif
