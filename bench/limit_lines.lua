--- What limits the cases in which strided is slower than a peer, as measured
-- with perf, and what was tried. limits.lua finds the first line that applies:
--
--     family      names of families, separated by spaces; default all
--     case        patterns, one of which the case's name has
--     without     a pattern that it does not have
--     from, to    strided's time in us

return {
  {name = "A view, or a call on few elements", from = 0, to = 1.6,
   limit = "LuaJIT's own work (userdata, finalizer, collection, stack) is 42 "
        .. "to 62 % of the time of a view and 31 to 48 % of a small map, the "
        .. "engine 19 to 51 %, the binding 8 to 21 %; no function has more "
        .. "than 7 %, but the kernel. NumPy's call costs 20 to 110 ns",
   tried = "shortcuts without dispatch; cached resolutions, of keywords and "
        .. "lists too; no atomics where there is one owner (Note [The budget "
        .. "of a call])"},
  {name = "A fresh result of 64 KB to 8 MB", from = 1.6, to = 1000,
   family = "contiguous create convert activation unary binary move ternary",
   without = "out=",
   limit = "a collection takes 24 us every 4 MB of results: 22 % of relu of "
        .. "400,000 float32, 37 % of zeros of 71 KB; the rest of what is lost "
        .. "is that results take turns in several blocks, while a peer frees "
        .. "each and writes the same block again: relu of 886,809 takes 96 us, "
        .. "74 with y:free(), PyTorch 75",
   tried = "a bound of 8, 16 and 24 MB instead of 4: one thread 44 us, 45, 54 "
        .. "and 75 for 400,000 elements, two threads 30, 24, 27 and 33, but "
        .. "8 MB results 140, 156, 180 and 209"},
}
