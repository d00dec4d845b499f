# Installs the host programs of the specs. Sourced.

# The Lua module of nginx depends on another LuaJIT package, which conflicts
# with the one whose headers the build needs. Therefore the packages that its
# installation would add are unpacked into build/, for this version of nginx.
unpack_nginx_lua() {
  aside=build/hosts/nginx
  present /usr/sbin/nginx && present apt-get || return 0
  version=$(/usr/sbin/nginx -v 2>&1)
  [ "$(cat $aside/version 2>/dev/null)" != "$version" ] || return 0
  say "dev: missing packages, and their purpose:"
  say "  libnginx-mod-http-lua: Lua in nginx; unpacked into $aside"
  rm -rf $aside
  mkdir -p $aside/packages
  names=$(apt-get -s --no-install-recommends install libnginx-mod-http-lua \
          2>/dev/null </dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
  (
    cd $aside/packages
    [ -n "$names" ] && apt-get -q download $names </dev/null >&2 &&
      for file in *.deb; do dpkg-deb -x "$file" .. || exit; done
  ) || { say "dev: continuing without it: apt does not have it"; return 0; }
  echo "$version" >$aside/version
}

# Hosts are optional: one that is neither installed nor available from apt is
# skipped.
ready_hosts() {
  want hosts
  unpack_nginx_lua
  PATH=$PATH:/usr/sbin
}
