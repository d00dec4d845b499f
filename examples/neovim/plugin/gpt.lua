-- Commands that complete text by a network: see lua/gpt_complete.lua.

vim.api.nvim_create_user_command("GptComplete", function(command)
  require("gpt_complete").start(command.args)
end, {nargs = 1, complete = "file"})

vim.api.nvim_create_user_command("GptSurprise", function()
  require("gpt_complete").surprise()
end, {})
