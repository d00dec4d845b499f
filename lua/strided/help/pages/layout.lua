--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.layout

return [=[
layout: shapes, strides, views and memory formats

A tensor is a storage, an offset, sizes and strides: how many elements to go
in memory from one index to the next.

  > t = st.arange(6):view(2, 3)
  > t.shape, t:stride(), t:storage_offset()
  {2, 3}	{3, 1}	0

Transposing, slicing and expanding change these numbers only; the result is a
view, which shares the elements.

  > u = t:t()
  > u.shape, u:stride(), u:is_contiguous()
  {3, 2}	{1, 3}	false
  > u[{3, 1}] = 20
  > t
  tensor([[ 0,  1, 20],
          [ 3,  4,  5]])

view needs strides that fit; reshape copies where they do not.

  > u:view(6)
  input:1: view: shape [3, 2] with strides [1, 3] cannot be viewed as [6]
    without a copy; use reshape
  > u:reshape(6)
  tensor([ 0,  3,  1,  4, 20,  5])
  > u:contiguous():stride()
  {2, 1}

The memory format of images may be channels_last: the same elements and
shape, other strides. Operators keep the format of their input.

  > x = st.ones(1, 8, 4, 4):contiguous {memory_format = "channels_last"}
  > x.shape, x:stride()
  {1, 8, 4, 4}	{128, 1, 32, 8}
  > x:relu():stride()
  {128, 1, 32, 8}

st.layout(t) draws the memory of t. See also ?as_strided, ?permute, ?unfold.]=]
