--- A game without a window, a picture or a sound.

function love.conf(t)
  t.identity = nil
  t.console = false
  for _, name in ipairs {
    "audio", "font", "graphics", "image", "joystick", "keyboard", "mouse",
    "physics", "sound", "touch", "video", "window",
  } do
    t.modules[name] = false
  end
end
