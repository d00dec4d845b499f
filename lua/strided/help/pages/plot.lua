--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.plot

return [=[
plot: pictures of numbers, in the terminal and in files

st.plot(y) or st.plot(x, y) returns a figure, which the prompt and print show
as text. Tensors and lists of numbers are drawn; NaN and infinity are gaps.

  > x = st.linspace(0, 6, 100)
  > fig = st.plot(x, x:sin(), {title = "waves", label = "sine"})
  > fig = fig:line(x, x:cos(), {label = "cosine"}):set {xlabel = "t"}

fig:save "waves.svg" writes a file; .png and .pdf need rsvg-convert, a program
of the package librsvg2-bin. fig:show() draws a picture in terminals that have
sixel or kitty's graphics. fig:svg() and fig:text() are the texts.

Other kinds are methods of a figure, or the option kind:

  > points = st.plot(st.randn(50), st.randn(50), {kind = "scatter"})
  > counts = st.plot(st.randn(1000), {kind = "hist", bins = 20})
  > bars = st.plot():bar({"a", "b", "c"}, {3, 1, 2})
  > map = st.plot(st.rand(8, 8), {kind = "heatmap"})
  > picture = st.plot(st.rand(3, 32, 32), {kind = "image"})

Several series at once are a list, or the columns of a matrix:

  > both = st.plot {{x = x, y = x:exp(), label = "exp"}, {y = {1, 2, 3}}}
  > three = st.plot(st.randn(100, 3):cumsum(1), {label = {"a", "b", "c"}})

Options of a figure: title, xlabel, ylabel, xlim, ylim, log ("x", "y", "xy"),
legend, width, height. Of a series: label, color, linewidth, marker, size,
bins, range, density, vmin, vmax, cmap, colorbar.

  > losses = st.plot({10, 1, 0.1}, {log = "y", ylim = {0.01, 100}})

Help on a method: st.help "heatmap", or st.help(fig.line).]=]
