/* Luma of rows of interleaved RGB.
 */
#ifndef STRIDED_IMAGE_LUMA_H
#define STRIDED_IMAGE_LUMA_H

#include <stdint.h>

/* BT.601 in units of 2^-16, as in Pillow: n pixels of 3 bytes to n bytes. */
void luma_row(const uint8_t *rgb, uint8_t *to, int64_t n);

#endif
