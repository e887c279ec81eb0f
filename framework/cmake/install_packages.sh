#!/usr/bin/env bash
# Installs the packages for the build, listed in packages.txt. --lint adds the tools that check the format of the sources,
# --tests everything that the tests need, and --browser the browser; without it, a test is skipped.
# With apt-get it installs missing packages, as root or with sudo; for dnf, zypper, pacman, apk and brew it prints the
# command to run. If nothing is missing it uses neither apt nor sudo, so the machine may be offline.
#   CXX=g++-12            the compiler to build with, if the default one is too old
#   LEARN_PACKAGES=skip   checks nothing: everything is installed by other means
# The CUDA toolkit and cuDNN are not installed. The CUDA backend is built if nvcc >= 12.0 and the headers of
# cuDNN >= 9.8 are present. Alpine needs `apk add bash` first.
set -euo pipefail

case ${1:-} in
  '') stages=build ;;
  --lint) stages="build lint" ;;
  --tests) stages="build lint tests" ;;
  --browser) stages="build lint tests browser" ;;
  -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "error: unknown option '$1'; known: --lint, --tests, --browser" >&2
    exit 2
    ;;
esac
[ "${LEARN_PACKAGES:-}" != skip ] || exit 0

fail() { # line ...
  echo "error: $1" >&2
  shift
  [ $# = 0 ] || printf '%s\n' "$@" >&2
  exit 1
}

default_compiler() { # the compiler that CMake would choose
  local name
  for name in c++ g++ clang++; do
    if command -v "$name" >/dev/null; then echo "$name" && return; fi
  done
}

# Checks that the compiler works and is new enough. A compiler that is too old ends the script, because no package
# manager replaces it. The versions come from its preprocessor, because the output of --version differs between
# distributions.
check_compiler() {
  local compiler gnu clang version
  compiler=${CXX:-$(default_compiler)}
  [ -n "$compiler" ] || return 1
  # shellcheck disable=SC2086 # CXX may hold a launcher or options, as in "ccache g++"
  version=$($compiler -E -P -x c++ - 2>/dev/null <<<'__GNUC__ __clang_major__') ||
    fail "the C++ compiler '$compiler' does not run; say which one does, as in: export CXX=g++-12"
  read -r gnu clang <<<"$version"
  case $clang in
    __clang_major__) [ "$gnu" -ge 12 ] || too_old "$compiler" "g++ $gnu" ;;
    *) [ "$clang" -ge 14 ] || too_old "$compiler" "clang $clang" ;;
  esac
}
too_old() {
  local remedy="install a newer one, then"
  [ "$manager" != apt ] || remedy="${admin}apt-get install g++-12, then"
  fail "the C++ compiler '$1' is $2, too old; g++ 12 or clang 14 is needed: $remedy export CXX=g++-12"
}

installed() { # package
  case $manager in
    apt) dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -x installed >/dev/null ;;
    dnf | zypper) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
    pacman) pacman -T "$1" >/dev/null 2>&1 ;;
    apk) apk info -e "$1" >/dev/null 2>&1 ;;
    brew) brew list --versions "$1" >/dev/null 2>&1 ;;
    what) false ;;
  esac
}

there() { # command package
  case $1 in
    c++) check_compiler ;;
    -) installed "$2" ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing_packages() {
  local stage command name apt dnf pacman apk brew zypper what found=
  # shellcheck disable=SC2034 # a column is read by its name
  while read -r stage command apt dnf pacman apk brew zypper what; do
    case " $stages " in *" $stage "*) ;; *) continue ;; esac
    name=${!manager}
    if ! there "$command" "$name"; then
      case " $found " in *" $name "*) ;; *) found="$found $name" ;; esac
    fi
  done <"$(dirname "$0")/packages.txt"
  echo "${found# }"
}

manager='what'
for program in apt-get dnf zypper pacman apk brew; do
  if command -v "$program" >/dev/null; then
    manager=${program%-get}
    break
  fi
done
user=$(id -u)
admin=
if [ "$user" != 0 ] && [ "$manager" != brew ] && command -v sudo >/dev/null; then admin="sudo "; fi

missing=$(missing_packages)
[ -n "$missing" ] || exit 0

case $manager in
  apt) verb="apt-get install" ;;
  pacman) verb="pacman -S" ;;
  apk) verb="apk add" ;;
  *) verb="$manager install" ;;
esac
# shellcheck disable=SC2086 # here and below: names of packages hold no spaces
by_hand="$admin$verb$(printf ' %q' $missing)"
case $manager in
  apt) ;;
  what)
    fail "there is none of apt-get, dnf, zypper, pacman, apk and brew here to ask for: $missing" \
      "If all of it is installed by other means, go on with: export LEARN_PACKAGES=skip"
    ;;
  *) fail "missing: $missing; this installs it:" "  $by_hand" ;;
esac
if [ "$user" != 0 ] && [ -z "$admin" ]; then
  fail "missing: $missing; to install it takes root, and there is no sudo. An administrator would run:" "  $by_hand"
fi

as_root() {
  if [ -n "$admin" ]; then sudo "$@"; else "$@"; fi
}

echo "installing: $missing"
# If one of apt's sources is unreachable, its cached lists may suffice. A package unknown to apt would prevent the
# others from being installed.
updated=yes known='' unknown=''
as_root apt-get update -qq -o APT::Update::Error-Mode=any || updated=no
for name in $missing; do
  if [ -n "$(apt-cache madison "$name")" ]; then known="$known $name"; else unknown="$unknown $name"; fi
done
if [ -n "$known" ]; then
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $known >/dev/null || true
fi

missing=$(missing_packages)
[ -n "$missing" ] || exit 0
remedies=()
[ $updated = yes ] || remedies+=("apt-get update failed: is there a network?")
[ -z "$unknown" ] || remedies+=("apt has no package$unknown: look for another name (apt-cache search), add a source"
  "that has it (on Ubuntu: add-apt-repository universe), or install it by other means: export LEARN_PACKAGES=skip")
fail "still missing: $missing; see apt-get's output above." "${remedies[@]}" "Then run this again, or: $by_hand"
