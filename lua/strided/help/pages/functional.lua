--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.functional

return [=[
functional: where the functions of torch.nn.functional are

They are operators: F.relu(x) is st.relu(x), and x:relu(). Options go into a
table at the end; dimensions and classes count from 1.

  F.relu, F.gelu, F.silu, ...       st.relu(x), st.gelu(x); x:relu_() in place
  F.softmax(x, dim=1)               st.softmax(x, 2)
  F.linear(x, w, b)                 st.linear(x, w, b)
  F.conv2d(x, w, b, padding=1)      st.conv2d(x, w, b, {padding = 1})
  F.max_pool2d(x, 2)                st.max_pool2d(x, 2)
  F.layer_norm, F.batch_norm, ...   st.layer_norm(x, {sizes}), st.batch_norm
  F.dropout(x, 0.5, training)       st.dropout(x, 0.5, training)
  F.cross_entropy(x, y)             st.cross_entropy(x, y)
  F.mse_loss, F.l1_loss, ...        st.mse_loss(x, y), st.l1_loss(x, y)
  F.embedding(i, w), F.one_hot      st.embedding(w, i), st.one_hot(i)
  F.pad(x, (1, 1))                  st.pad(x, {1, 1})
  F.interpolate(x, scale_factor=2)  st.interpolate(x, {scale_factor = 2})
  F.unfold, F.grid_sample, ...      st.nn.Unfold(k)(x), st.grid_sample(x, g)
  F.scaled_dot_product_attention    st.scaled_dot_product_attention(q, k, v)

  > x = st.tensor {{1, 2.5}, {0, -1}}
  > st.softmax(x, 2):argmax(2)
  tensor([2, 1])
  > st.pad(st.ones(2), {1, 1})
  tensor([0., 1., 1., 0.])
  > st.cross_entropy(x, st.tensor {2, 1})
  tensor(0.2573)

st.nn has the same as modules: st.nn.ReLU(), st.nn.CrossEntropyLoss(). See also
?nn, ?elementwise, ?pooling, ?normalization, ?vision, and ?absent.]=]
