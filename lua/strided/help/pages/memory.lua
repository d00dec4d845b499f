--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.memory

return [=[
memory: when tensors are released, limits, files

A tensor's elements live until no tensor uses them. Lua's collector finds that
out in its own time, so the engine runs it when much memory is in use. Some
ways to be sure:

  > t = st.ones(1000)
  > t:free()

st.scope releases all that was made in a call, except its results.

  > st.scope(function() return (st.ones(1000) * 2):sum() end)
  tensor(2000.)

What is in use, and a limit, above which an allocation fails with an error:

  > st.memory().data.bytes > 0
  true
  > st.memory.set_limit(2 ^ 30);
  > ok, why = pcall(st.empty, 2 ^ 40)
  > why:match "out of memory"
  out of memory
  > st.memory.set_limit(nil);

In place, and with out =, an operator allocates nothing:

  > a, b = st.ones(3), st.ones(3)
  > a:add_(b)
  tensor([2., 2., 2.])
  > st.mul(a, b, {out = b});
  > b
  tensor([2., 2., 2.])

Files larger than memory: st.load(path, {mmap = true}), st.create(path, shape)
and st.chunks(t, rows). See also ?memory.stats, ?memory.trim, ?share.]=]
