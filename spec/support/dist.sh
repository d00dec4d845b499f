# The release: a tarball of what is committed, in which the rockspec of the
# version takes the place of strided-scm-1.rockspec. Sourced.

# dist FOLDER: writes strided-VERSION.tar.gz and the rockspec into it. The same
# commit gives the same bytes.
dist() {
  out=$1
  version=$(sed -n 's/^#define ST_VERSION "\(.*\)"$/\1/p' core/strided.h)
  name=strided-$version
  spec=rockspecs/$name-1.rockspec
  [ "$(git rev-parse --show-cdup 2>/dev/null || echo none)" = "" ] ||
    die "dist: this folder is not the root of a git repository"
  [ -e "$spec" ] || die "dist: there is no $spec"
  [ -z "$(git status --porcelain)" ] ||
    say "dev: changes that are not committed are left out"
  mkdir -p "$out"
  cp "$spec" "$out/"
  chmod 644 "$spec"
  git -c tar.umask=0022 archive --format=tar --prefix="$name/" \
      --add-file="$spec" HEAD \
      ':(exclude)strided-scm-1.rockspec' ':(exclude)rockspecs' |
    gzip -n >"$out/$name.tar.gz"
  say "dev: $out/$name.tar.gz"
}
