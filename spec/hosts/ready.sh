# What the hosts need beyond the build: sourced by whoever starts them.

# The Lua module of nginx asks for another LuaJIT than the one whose headers
# are needed here, and apt would take the one away for the other. What
# installing it would bring is unpacked aside, for this version of nginx.
unpack_nginx_lua() {
  aside=build/hosts/nginx
  present /usr/sbin/nginx && present apt-get || return 0
  version=$(/usr/sbin/nginx -v 2>&1)
  [ "$(cat $aside/version 2>/dev/null)" != "$version" ] || return 0
  say "dev: missing, and what for:"
  say "  libnginx-mod-http-lua: Lua in nginx; unpacked into $aside"
  rm -rf $aside
  mkdir -p $aside/packages
  names=$(apt-get -s --no-install-recommends install libnginx-mod-http-lua \
          2>/dev/null </dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
  (
    cd $aside/packages
    [ -n "$names" ] && apt-get -q download $names </dev/null >&2 &&
      for file in *.deb; do dpkg-deb -x "$file" .. || exit; done
  ) || { say "dev: going on without it: apt does not have it"; return 0; }
  echo "$version" >$aside/version
}

# Hosts are optional: one that is not here, and that apt does not have, is
# left out.
ready_hosts() {
  want hosts
  unpack_nginx_lua
  PATH=$PATH:/usr/sbin
}
