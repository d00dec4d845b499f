--- Types the beginning of a line, waits for its suggestion, accepts it, and
-- asks what of another line is unlikely. The editor does this while it runs.

local complete = require "gpt_complete"

local api = vim.api
local space = api.nvim_create_namespace "gpt_complete"

complete.delay, complete.budget = 20, 1e4

local function say(...) io.stdout:write(...) io.stdout:write "\n" end

--- The marks of the buffer, as text.
local function marks()
  local list = {}
  for i, mark in ipairs(api.nvim_buf_get_extmarks(0, space, 0, -1,
                                                  {details = true})) do
    local details = mark[4]
    local text = details.virt_text and "'" .. details.virt_text[1][1] .. "'"
                 or details.hl_group .. " to " .. details.end_col
    list[i] = ("%d:%d %s"):format(mark[2] + 1, mark[3], text)
  end
  return table.concat(list, ", ")
end

--- Waits for a condition, then goes on; leaves the editor if it is in vain.
local function once(condition, go_on)
  local tries = 0
  local function try()
    tries = tries + 1
    if condition() then return go_on() end
    if tries > 500 then
      say("in vain: ", marks())
      return vim.cmd "cquit 3"
    end
    vim.defer_fn(try, 20)
  end
  try()
end

local function is_marked() return marks() ~= "" end

local steps = {
  function(go_on)
    api.nvim_input "ione two thr"
    once(is_marked, go_on)
  end,
  function(go_on)
    say("suggests ", marks())
    api.nvim_input "<C-l>"
    once(function() return #api.nvim_get_current_line() > 20 end, go_on)
  end,
  function(go_on)
    say("writes ", api.nvim_get_current_line(), ", cursor at ",
        api.nvim_win_get_cursor(0)[2], ", marks ", marks())
    api.nvim_input "<CR>one tw<Left>"
    once(function() return api.nvim_win_get_cursor(0)[2] == 5 end, go_on)
  end,
  function(go_on) -- no suggestion but at the end of a line
    vim.defer_fn(function()
      say("marks ", marks())
      api.nvim_input "<Esc>"
      once(function() return api.nvim_get_mode().mode == "n" end, go_on)
    end, 100)
  end,
  function(go_on)
    api.nvim_buf_set_lines(0, 0, -1, true, {
      "one two three four five six", "one two th\195\164ee four five six",
    })
    vim.cmd "GptSurprise"
    say("is surprised ", marks())
    vim.cmd "GptSurprise"
    say("marks ", marks())
    go_on()
  end,
  function(go_on)
    local ok, why = pcall(vim.cmd, "GptComplete /no/such/file")
    say("says ", tostring(ok), " ", tostring(why):match "cannot load [^\n]+" or
        vim.v.errmsg)
    go_on()
  end,
}

local function run(k)
  if not steps[k] then return vim.cmd "qa!" end
  steps[k](function() run(k + 1) end)
end

vim.defer_fn(function() run(1) end, 10)
