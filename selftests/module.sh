#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Loading and unloading of the module named by UVERBS_SHARE_KO, with rxe devices that come before
# and after it. Leaves rxe0, rxe1 and the module as they were. Needs root, a throw-away machine and
# the veth pair that rxe0 and rxe1 run on.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
MODULE=ib_uverbs_share
EPROTONOSUPPORT=93
query=${UVERBS_SHARE_BIN:-$here/../build/selftests}/query
tool=$here/../build/user/ibv-share
n=0
failed=0

# poll COMMAND...: until it succeeds, at most 10 s.
poll() {
	local end=$((SECONDS + 10))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# ok NAME COMMAND...: a test that the command passes.
ok() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		failed=$((failed + 1))
	fi
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 4
}

device_exists() { [ -e "/sys/class/infiniband/$1" ]; }
is_loaded() { [ -e /sys/module/$MODULE ]; }
not() { ! "$@"; }

# A device goes in its own time, so a new one of the same name may take a few tries.
add() { device_exists "$1" || rdma link add "$1" type rxe netdev "$2" 2> /dev/null; }
del() { ! device_exists "$1" || rdma link del "$1"; }
add_both() { poll add rxe0 "$net0" && poll add rxe1 "$net1"; }
del_both() { del rxe0 && del rxe1 && poll not device_exists rxe0 && poll not device_exists rxe1; }
# answers ERRNO: to the first method of the module
answers() { "$query" rxe0 "$1"; }

# says TEXT: what the library tells a person to do
says() { grep -q "$1" <<< "$("$tool" devices 2>&1)"; }

# notices DEVICE: how often the kernel said that the device is too old
notices() { dmesg | grep -c "$MODULE: $1 was registered before this module"; }
one_notice_each() { [ "$(notices rxe0)" = $((old0 + 1)) ] && [ "$(notices rxe1)" = $((old1 + 1)) ]; }

restore() {
	if ! is_loaded; then
		del_both
		insmod "$UVERBS_SHARE_KO"
	fi
	add_both
}

late_module() {
	ok "rmmod without devices" rmmod $MODULE
	ok "the module is gone" not is_loaded
	ok "devices without the module" add_both
	ok "methods are not there" answers $EPROTONOSUPPORT
	ok "the library says: load the module" says "module is not loaded: run modprobe"
	old0=$(notices rxe0)
	old1=$(notices rxe1)
	ok "load with devices present" insmod "$UVERBS_SHARE_KO"
	ok "one notice for each device" one_notice_each
	ok "methods of old devices are not there" answers $EPROTONOSUPPORT
	ok "the library says: make the device anew" says "was loaded after this device"
	ok "old devices do not hold the module" rmmod $MODULE
	ok "load again" insmod "$UVERBS_SHARE_KO"
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -n "${UVERBS_SHARE_KO:-}" ] || skip_all "UVERBS_SHARE_KO is not set"
[ -x "$query" ] || skip_all "no $query"
is_loaded || skip_all "the module is not loaded"
device_exists rxe0 && device_exists rxe1 || skip_all "no rxe0 and rxe1"
net0=$(cat /sys/class/infiniband/rxe0/parent)
net1=$(cat /sys/class/infiniband/rxe1/parent)
trap restore EXIT

echo "TAP version 13"
ok "methods work" answers 0
ok "rmmod is refused while devices are attached" not rmmod $MODULE 2> /dev/null
ok "the module is still there" is_loaded
ok "one device deleted" del rxe1
ok "rmmod is refused while one device is attached" not rmmod $MODULE 2> /dev/null
ok "delete the devices" del_both
late_module
ok "delete the old devices" del_both
ok "make them anew" add_both
ok "methods work again" answers 0
ok "the module is held again" not rmmod $MODULE 2> /dev/null
for i in 1 2 3; do
	ok "unload and load, round $i" eval "del_both && rmmod $MODULE && insmod '$UVERBS_SHARE_KO' && add_both && answers 0"
done
echo "1..$n"
[ $failed = 0 ]
