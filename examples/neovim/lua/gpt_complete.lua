--- A network of examples/gpt.lua in Neovim: it shows how a line may go on, and
-- marks what it did not expect. See README.md.

local gpt = require "examples.support.gpt"

local api, uv = vim.api, vim.uv or vim.loop

local M = {
  delay = 200,      -- milliseconds without a key until there is a suggestion
  most = 60,        -- characters of a suggestion
  sure = 0.3,       -- it ends before a character that is less likely
  budget = 100,     -- milliseconds that it may take
  unlikely = 0.005, -- a probability below which a character is marked
  key = "<C-l>",    -- accepts a suggestion
}

local space = api.nvim_create_namespace "gpt_complete"
local timer = uv.new_timer()
local model, shown -- shown: {buffer, row, column, text} of the suggestion

-- -- Suggestions -------------------------------------------------------------

--- The text before the cursor: as much as leaves the network some room.
local function text_before(buffer, row, column)
  local n = math.ceil(model.sizes.context * 3 / 4)
  local lines = api.nvim_buf_get_lines(buffer, math.max(0, row - n), row + 1,
                                       false)
  lines[#lines] = lines[#lines]:sub(1, column)
  return table.concat(lines, "\n"):sub(-n)
end

--- A text without an incomplete character of UTF-8 at its end.
local function whole(text)
  return (text:gsub("[\192-\255][\128-\191]*$", function(last)
    local lead = last:byte()
    return #last == (lead < 224 and 2 or lead < 240 and 3 or 4) and last or ""
  end))
end

--- How the network continues the line: to its end, as long as it is sure, or
-- until time is over.
-- @tparam string text before the cursor
-- @treturn string
function M.predict(text)
  local parts, stop = {}, uv.hrtime() + M.budget * 1e6
  for character, p in gpt.continue(model, text, {temperature = 0}) do
    if character == "\n" or p < M.sure or #parts == M.most or
       uv.hrtime() > stop then break end
    parts[#parts + 1] = character
  end
  return whole(table.concat(parts))
end

local function clear()
  if shown and api.nvim_buf_is_valid(shown.buffer) then
    api.nvim_buf_clear_namespace(shown.buffer, space, 0, -1)
  end
  shown = nil
end

--- Shows a suggestion behind the cursor, if that is at the end of a line.
function M.suggest()
  clear()
  local buffer = api.nvim_get_current_buf()
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local line = api.nvim_get_current_line()
  if not model or column < #line or vim.bo[buffer].buftype ~= "" then return end
  local text = M.predict(text_before(buffer, row - 1, column))
  if text == "" then return end
  shown = {buffer = buffer, row = row - 1, column = column, text = text}
  api.nvim_buf_set_extmark(buffer, space, row - 1, column, {
    virt_text = {{text, "Comment"}}, virt_text_pos = "overlay",
  })
end

--- Writes the suggestion into the text. Returns false if there is none.
function M.accept()
  if not shown then return false end
  local at = shown
  clear()
  api.nvim_buf_set_text(at.buffer, at.row, at.column, at.row, at.column,
                        {at.text})
  api.nvim_win_set_cursor(0, {at.row + 1, at.column + #at.text})
  return true
end

--- Loads a network and shows suggestions from now on.
-- @tparam string path a checkpoint of examples/gpt.lua
function M.start(path)
  local ok, loaded = pcall(gpt.load, vim.fn.expand(path))
  if not ok then
    return vim.notify(tostring(loaded), vim.log.levels.ERROR)
  end
  model = loaded
  local group = api.nvim_create_augroup("gpt_complete", {})
  api.nvim_create_autocmd({"TextChangedI", "CursorMovedI", "InsertEnter"}, {
    group = group, callback = function()
      clear()
      timer:start(M.delay, 0, vim.schedule_wrap(function()
        if api.nvim_get_mode().mode:find "^i" then M.suggest() end
      end))
    end,
  })
  api.nvim_create_autocmd("InsertLeave", {group = group, callback = clear})
  vim.keymap.set("i", M.key, M.accept)
end

-- -- Surprise ----------------------------------------------------------------

--- Marks the characters of the buffer that the network finds unlikely, or takes
-- the marks away.
function M.surprise()
  if not model then
    return vim.notify("first :GptComplete FILE", vim.log.levels.ERROR)
  end
  local buffer = api.nvim_get_current_buf()
  if api.nvim_buf_get_extmarks(buffer, space, 0, -1, {limit = 1})[1] then
    return api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  end
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local likely = gpt.likelihoods(model, table.concat(lines, "\n"))
  local at = 0
  for row, line in ipairs(lines) do
    for column = 1, #line do
      local is_first = line:byte(column) < 128 or line:byte(column) >= 192
      if is_first and likely[at + column] < M.unlikely then
        api.nvim_buf_set_extmark(buffer, space, row - 1, column - 1, {
          end_col = column + vim.str_utf_end(line, column),
          hl_group = "SpellBad",
        })
      end
    end
    at = at + #line + 1
  end
end

return M
