# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Sourced by the scripts that fill the cache. Needs common.sh.

# Increase it when an entry of the cache is made differently: old ones are then made anew.
RECIPE=1

# cache_prepare LOG LOCK: what goes wrong is written to LOG; one at a time has LOCK.
cache_prepare() {
	mkdir -p "$CACHE" 2>/dev/null || true
	[ -w "$CACHE" ] ||
		die "cannot write to $CACHE: run it as root or set UVERBS_SHARE_CACHE"
	LOG=$CACHE/$1
	TMPDIRS=()
	trap 'rm -rf "${TMPDIRS[@]}"' EXIT
	trap 'exit 1' INT TERM
	exec 9> "$CACHE/$2"
	flock 9
	: > "$LOG"
}

cache_has() { [ "$(cat "$CACHE/$1/.recipe" 2>/dev/null)" = $RECIPE ]; }

# cache_entry NAME FUNCTION ARG...: have FUNCTION fill a new directory, then make it $CACHE/NAME at
# once, so that a directory which was left half made is never taken for a whole one.
cache_entry() {
	local name=$1 make=$2 tmp
	shift 2
	! cache_has "$name" || return 0
	# What somebody has left who was killed.
	rm -rf "$CACHE/.$name".??????
	tmp=$(mktemp -d "$CACHE/.$name.XXXXXX")
	TMPDIRS+=("$tmp")
	chmod 755 "$tmp"
	mkdir "$tmp/dl" "$tmp/out"
	say "making $CACHE/$name"
	(cd "$tmp/dl" && "$make" "$tmp/out" "$@")
	echo $RECIPE > "$tmp/out/.recipe"
	rm -rf "${CACHE:?}/$name"
	mv "$tmp/out" "$CACHE/$name"
	rm -rf "$tmp"
}
