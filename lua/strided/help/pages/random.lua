--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.random

return [=[
random: seeds, generators, and the same numbers again

  > st.manual_seed(1)
  > a = st.rand(3)
  > st.manual_seed(1)
  > st.rand(3):equal(a)
  true

Without a seed they are others in every process; st.initial_seed() says by
which seed they come again. A forked child of a process that has not been
seeded gets a seed of its own; all Lua states of a process share one generator.

The numbers are PyTorch's for the same seed, on any machine and with any
number of threads. A generator of one's own keeps apart from the default one:

  > g = st.Generator(7)
  > st.randint(1, 7, {5}, {generator = g}).shape
  {5}
  > st.rand({2}, {generator = g}):lt(1):all():item()
  true

Save the state, and go on from it:

  > state = st.get_rng_state()
  > x = st.randn(2)
  > st.set_rng_state(state)
  > st.randn(2):equal(x)
  true

Indices count from 1: a permutation shuffles rows.

  > t = st.tensor {{1, 2}, {3, 4}, {5, 6}}
  > t[st.randperm(#t)].shape
  {3, 2}

Generators that can be split, for parallel work: st.Generator {algorithm =
"philox", seed = 7}; ?Generator says more.]=]
