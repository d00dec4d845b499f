--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.indexing

return [=[
indexing: elements, ranges and masks

Indices count from 1, negative indices from the end; ranges include both ends.
v[i] of a vector is a Lua number, where gradients of v are recorded a tensor.

  > v = st.tensor {10, 20, 30, 40}
  > v[1], v[-1], v[{1}]
  10	40	tensor(10)

A subscript is a table, one entry for each dimension, or the same as a string.
A range is {from, to, step}; {} and ":" are a whole dimension.

  > t = st.arange(12):view(3, 4)
  > t[2]
  tensor([4, 5, 6, 7])
  > t[{{}, 2}]
  tensor([1, 5, 9])
  > t["1:2, -1"]
  tensor([3, 7])
  > t[{{1, 3, 2}, {2, 3}}]
  tensor([[ 1,  2],
          [ 9, 10]])

What numbers and ranges select is a view: writing to it writes t.

  > t[{2, {}}] = 0
  > t:sum(2)
  tensor([ 6,  0, 38])

Masks and tensors of indices select copies; assigning through them writes.

  > v[v:gt(15)]
  tensor([20, 30, 40])
  > v[st.tensor {4, 4, 1}]
  tensor([40, 40, 10])
  > v[v:gt(15)] = -1
  > v
  tensor([10, -1, -1, -1])

See also ?index_select, ?gather, ?scatter, ?masked_fill, ?nonzero, ?take.]=]
