/* Groups on their way, between fusion_group.c, which chooses their calls, and
 * build_schedule.c, which makes steps of them.
 */
#ifndef ST_FUSE_SCHEDULE_FUSION_GROUP_H
#define ST_FUSE_SCHEDULE_FUSION_GROUP_H

#include "fuse/schedule/schedule.h"

enum { ST_GROUP_CALLS = 256, NO_VALUE = -1 };

/* Calls that run together, in order; a group that is no fusion group has
 * one. */
typedef struct st_fusion_group {
  bool is_fused;
  int level;                 /* Note [Order of fusion groups] */
  const st_tensor *like;     /* of the results' sizes */
  int ncalls, nin;
  int in[ST_GRAPH_INPUTS];   /* values from outside */
} st_fusion_group;

/* Some calls as a fusion group on its way. */
typedef struct st_subgraph {
  int n, nin, nout;
  int calls[ST_GROUP_CALLS];
  int in[ST_GRAPH_INPUTS], out[ST_GRAPH_OUTPUTS];
  int graph_id[ST_RECORD_VALUES]; /* tensors of the graph; of its values only */
} st_subgraph;

typedef struct st_scheduler {
  const st_recorder *r;
  st_schedule *s;
  int ngroups;
  bool has_unfused;              /* than pointwise calls */
  bool is_pointwise[ST_RECORD_CALLS], is_needed[ST_RECORD_CALLS];
  bool is_wanted[ST_RECORD_VALUES], is_output[ST_RECORD_VALUES];
  int level_of[ST_RECORD_CALLS], group_of[ST_RECORD_CALLS];
  int random_level;              /* of the last call that draws numbers */
  int order[ST_RECORD_CALLS];    /* of the groups */
  st_fusion_group groups[ST_RECORD_CALLS];
  st_subgraph subgraph;
} st_scheduler;

/* The k-th tensor that a call reads; NO_VALUE behind the last, or where a list
 * has a gap: then *more is set. */
int st__nth_read(const st_recorded_call *c, int k, bool *more);
bool st__reads(const st_recorded_call *c, int v);
/* What b->subgraph reads and gives; false when that is too much. */
bool st__find_boundary(st_scheduler *b);
/* b->subgraph as a graph. */
st_status st__extract_subgraph(st_scheduler *b, st_graph **out);

/* Puts all calls that are needed into groups; b->order is theirs. */
st_status st__choose_groups(st_scheduler *b);

#endif
