--- Interrupts of calls by the count hook and by Ctrl-C.

local M = {}

--- Calls fn with a hook that raises `failure` when it runs for the second time
-- from now on: the results of pcall. A call that does not ask whether to stop,
-- or once only, ends as if there were no hook.
function M.stopped(fn, failure)
  local runs = 0
  debug.sethook(function()
    runs = runs + 1
    if runs > 1 then error(failure, 0) end
  end, "", 1000000)
  local ok, message = pcall(fn)
  debug.sethook()
  return ok, message
end

--- Sends this process what Ctrl-C sends.
function M.strike() io.popen("kill -INT $PPID"):close() end

return M
