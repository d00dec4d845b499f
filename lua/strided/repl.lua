--- `luajit -l strided.repl`: runs a session of `strided.session`, then exits.
--
-- @module strided.repl

local run = require("strided.session").run
os.exit(run())
