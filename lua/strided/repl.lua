--- `luajit -l strided.repl`: runs a session of `strided.session`, then exits.
--
-- @module strided.repl

os.exit(require("strided.session").run())
