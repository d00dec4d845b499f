--- `luajit -l strided.repl`: the session of `strided.session`, and the process
-- ends with it.
--
-- @module strided.repl

os.exit(require("strided.session").run())
