/* Operands and ctx of the tasks of kernel/vision/grid_sample.c. Operands: out
 * (batch, channels, points), image (batch, channels, pixels) and grid (batch,
 * points, dims), all contiguous. A unit is a block of ST_GRID_BLOCK points of
 * all channels of an image.
 */
#ifndef ST_KERNEL_VISION_GRID_SAMPLE_H
#define ST_KERNEL_VISION_GRID_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ST_GRID_BLOCK = 64 };

typedef enum st_grid_border {
  ST_GRID_ZEROS, ST_GRID_BORDER, ST_GRID_REFLECTION
} st_grid_border;

typedef struct st_grid_ctx {
  int dims;             /* 2 or 3 */
  bool nearest;         /* else linear between pixels */
  bool align_corners;
  st_grid_border border;
  int64_t size[3];      /* of an image; at most INT32_MAX pixels */
  int64_t channels, points;
  int64_t begin, end;   /* units */
} st_grid_ctx;

#endif
