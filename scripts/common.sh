# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Sourced by the scripts in this directory: where things are, and how to fail.

# The callers use these.
# shellcheck disable=SC2034
{
	TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
	BUILD=$TOP/build
	CACHE=${UVERBS_SHARE_CACHE:-/var/cache/uverbs-share}
	SERIES="6.1 6.12"
}

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$@"; exit 1; }
