--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.broadcasting

return [=[
broadcasting: operators on tensors of different shapes

Shapes are compared from the last dimension on. Two sizes fit if they are
equal or one of them is 1, which is repeated; a missing dimension counts as 1.
Nothing is copied: a repeated dimension has the stride 0.

  > rows = st.tensor {{1}, {2}, {3}}
  > row = st.tensor {10, 20}
  > rows + row
  tensor([[11, 21],
          [12, 22],
          [13, 23]])
  > st.broadcast_shapes({3, 1}, {2})
  {3, 2}
  > row:expand(3, 2):stride()
  {0, 1}

Shapes that do not fit are an error, which names them:

  > st.ones(2, 3) + st.ones(2)
  input:1: add: shapes [2, 3] and [2] do not broadcast: sizes 3 and 2 differ
    at dimension 2

Insert a dimension of size 1 where it is needed: t:unsqueeze(dim), or
st.newaxis in a subscript.

  > st.ones(2, 3) + st.ones(2):unsqueeze(2)
  tensor([[2., 2., 2.],
          [2., 2., 2.]])
  > row[{st.newaxis, {}}].shape
  {1, 2}

An operator in place, such as t:add_(other), broadcasts other, never t.

See also ?expand, ?broadcast_to, ?broadcast_tensors, ?outer, ?layout.]=]
