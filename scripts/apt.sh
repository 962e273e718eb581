# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Sourced by scripts/setup: apt with a configuration of our own, below the cache.
#
# Kernel 6.12 is in the suite bookworm-backports, which a machine need not have configured. Its
# entries are derived from the machine's own (same archive, keys, proxy), and the machine's
# configuration is left as it is. Needs CACHE and LOG.

SUITE=bookworm

# apt_run VERB WHAT COMMAND...: run it, and turn any failure into one sentence.
apt_run() {
	local verb=$1 what=$2
	shift 2
	"$@" < /dev/null >> "$LOG" 2>&1 ||
		die "cannot get $what from the Debian archive ('apt-get $verb' failed, see $LOG):" \
			"connect this machine to its archive and run 'make setup' again"
}

apt_private() {
	local d=$CACHE/apt cmd=$1
	shift
	"$cmd" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$d/sources" \
		-o Dir::State="$d/state" -o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$d/cache" -o APT::Sandbox::User=root "$@" 2>> "$LOG"
}

# Entries of the stable suite in a .sources file (RFC 822 style) again, for its backports.
backports_of_sources() {
	awk -v suite=$SUITE -v RS= '
	function wanted(p,   n, lines, i) {
		n = split(p, lines, "\n")
		for (i = 1; i <= n; i++) {
			if (lines[i] ~ /^Enabled:[ \t]*(no|false|0)/)
				return 0
			if (lines[i] ~ /^Suites:/ && (lines[i] " ") ~ "[ \t]" suite "[ \t]")
				found = 1
		}
		return found
	}
	{ found = 0 }
	wanted($0) {
		n = split($0, lines, "\n")
		for (i = 1; i <= n; i++) {
			if (lines[i] ~ /^#/)
				continue
			if (lines[i] ~ /^Suites:/)
				lines[i] = "Suites: " suite "-backports"
			print lines[i]
		}
		print ""
	}' "$1"
}

# The same for a file with one entry a line.
backports_of_list() {
	sed -nE "s/^(deb[ \t]+(\[[^]]*\][ \t]+)?[^ \t]+[ \t]+)$SUITE([ \t])/\1$SUITE-backports\3/p" "$1"
}

apt_private_make() {
	local d=$CACHE/apt f derived=""
	rm -rf "$d"
	mkdir -p "$d/sources" "$d/state/lists/partial" "$d/cache/archives/partial"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		/etc/apt/sources.list.d/*.sources; do
		[ -e "$f" ] || continue
		cp "$f" "$d/sources/"
		! grep -q "^[^#]*$SUITE-backports" "$f" || derived=none-needed
	done
	for f in "$d"/sources/*; do
		[ -z "$derived" ] || break
		case $f in
		*.sources) backports_of_sources "$f" > "$f.new" ;;
		*) backports_of_list "$f" > "$f.new" ;;
		esac
		if [ -s "$f.new" ]; then
			mv "$f.new" "$d/sources/backports-${f##*/}"
		else
			rm "$f.new"
		fi
	done
	[ -n "$derived" ] || compgen -G "$d/sources/backports-*" > /dev/null ||
		die "apt has no entry for $SUITE here: this needs Debian 12"
	apt_run update "the lists of kernel packages" apt_private apt-get update
}

# Into the current directory.
apt_download() {
	apt_run download "$*" apt_private apt-get download "$@"
}
