--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.session

return [=[
session: what one can type at the prompt

  expr            prints its values; with ; at its end it does not
  _, _1 ... _9    the last value; _2 is the one before it, and so on
  local x = 1     stays in the lines that follow, as in a script; of
                  local _ and of local x <close> nothing stays
  ?name  ??name   help; with schemas and kernels. st.apropos "word" searches
  %time expr      runs once and says how long it took; %time alone turns
                  times on and off for all that is typed
  %who            lists the variables and what they hold
  !command        runs a command of the shell
  quit, exit      leave, as Ctrl-D does; Ctrl-C stops what runs
  Tab             completes names, fields, methods, options, dtypes, and
                  paths of files in strings

Functions: st.timeit(fn, ...) measures fn(...) as often as it takes to be
sure; help(x) is ?x of a value; st.set_printoptions changes how many digits
and elements of a tensor are shown.

  > st.set_printoptions {precision = 2}
  > st.tensor {1.2345, 2.5}
  tensor([1.23, 2.50])
  > st.set_printoptions {profile = "default"}
  > {st.ones(2), n = 2}
  {tensor([1., 1.]), n = 2}

Below an error is what to write instead of Python: of a @ b, a:matmul(b).

strided FILE ARGUMENT... runs a script, -i a session after it, -e CODE a
piece of code, - the standard input, -v prints the version, -h all options.
The exit status is 0, or 1 after an error, or that of os.exit(status).

STRIDED_STARTUP, else ~/.config/strided/init.lua, is a file that runs before
a session. NO_COLOR=1 or CLICOLOR=0 turns colours off; PAGER shows long
help (less). The history is in ~/.local/state/strided/history.]=]
