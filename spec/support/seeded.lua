--- What busted runs before the specs: random numbers are the same in every run.
-- A spec may seed again; a process that a spec starts has to.

require("strided").manual_seed(67280421310721)
