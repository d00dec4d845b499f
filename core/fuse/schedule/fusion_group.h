/* Fusion groups: which calls of a recording run as one loop.
 *
 * Stage schedule of Note [Stages of fusion]. In: a recording
 * (fuse/trace/recorder.h). Out: ordered groups of calls; build_schedule.c makes
 * the steps of a schedule from them (schedule.h).
 */
#ifndef ST_FUSE_SCHEDULE_FUSION_GROUP_H
#define ST_FUSE_SCHEDULE_FUSION_GROUP_H

#include "fuse/schedule/schedule.h"

enum { ST_GROUP_CALLS = 256, NO_VALUE = -1 };

/* Calls that run together, in order. A group that is not fused has one call. */
typedef struct st_fusion_group {
  bool is_fused;
  int level;                 /* Note [Order of fusion groups] */
  const st_tensor *like;     /* a tensor with the results' sizes */
  int ncalls, nin;
  int in[ST_GRAPH_INPUTS];   /* values computed outside the group */
} st_fusion_group;

/* The calls of a fusion group, and their inputs and outputs. */
typedef struct st_subgraph {
  int n, nin, nout;
  int calls[ST_GROUP_CALLS];
  int in[ST_GRAPH_INPUTS], out[ST_GRAPH_OUTPUTS];
  int graph_id[ST_RECORD_VALUES]; /* index in the graph, of its values only */
} st_subgraph;

typedef struct st_scheduler {
  const st_recorder *r;
  const st_graph *g;             /* the recording's */
  st_schedule *s;
  int ngroups;
  bool has_unfused;              /* a call is not pointwise */
  bool is_pointwise[ST_GRAPH_NODES], is_needed[ST_GRAPH_NODES];
  bool checks[ST_GRAPH_NODES];   /* of a pointwise call: may fail by elements */
  bool is_wanted[ST_RECORD_VALUES], is_output[ST_RECORD_VALUES];
  int level_of[ST_GRAPH_NODES], group_of[ST_GRAPH_NODES];
  int random_level;              /* level of the last call that draws numbers */
  int order[ST_GRAPH_NODES];    /* the groups, in the order they run */
  st_fusion_group groups[ST_GRAPH_NODES];
  st_subgraph subgraph;
} st_scheduler;

/* The k-th tensor that a call reads. NO_VALUE for None in a list, with *more
 * set, and behind the last tensor. */
int st__nth_read(const st_graph_node *c, int k, bool *more);
bool st__reads(const st_graph_node *c, int v);
/* True if the call may draw random numbers. */
bool st__may_draw(const st_graph_node *c);
/* Sets the inputs and outputs of b->subgraph; false if there are too many. */
bool st__find_boundary(st_scheduler *b);
/* Makes a graph of b->subgraph; the caller owns it. */
st_status st__extract_subgraph(st_scheduler *b, st_graph **out);

/* Assigns all live calls to groups, and orders these in b->order. */
st_status st__choose_groups(st_scheduler *b);

#endif
