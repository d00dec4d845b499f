--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.autograd

return [=[
autograd: gradients of what was computed

A tensor that requires a gradient records what is computed from it.

  > w = st.tensor({1, 2, 3}, {dtype = "float32", requires_grad = true})
  > loss = (w * w):sum()
  > loss:backward()
  > w.grad
  tensor([2., 4., 6.])

Gradients add up: set w.grad = nil, or call optimizer:zero_grad().
st.grad returns them and changes nothing.

  > st.grad((w ^ 3):sum(), w)
  tensor([ 3., 12., 27.])

With create_graph the gradient can be differentiated again.

  > g = st.grad((w ^ 3):sum(), w, {create_graph = true})
  > st.grad(g:sum(), w)
  tensor([ 6., 12., 18.])

Without recording: st.no_grad(fn, ...), st.inference_mode(fn), t:detach().

  > st.no_grad(function() return (w * 2).requires_grad end)
  false

Gradients flow through v[i] and v:iter() of a vector: they give tensors here.

  > w[2] * w:sum()
  tensor(12., grad_fn=<MulBackward0>)

In place on a leaf that requires a gradient is an error:

  > w:add_(1)
  input:1: add_: a leaf that requires a gradient cannot be written in place
    while gradients are recorded: clone it first, or write it within no_grad

See also ?backward, ?gradcheck, ?checkpoint, ?detect_anomaly, ?nn.Module,
?optim.SGD, and st.autograd.jacobian, hessian, vjp and jvp.]=]
