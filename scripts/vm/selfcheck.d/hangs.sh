#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Does not end, not even when it is asked to; its time-out is in settings.
echo "TAP version 13"
echo "1..1"
echo "ok 1 but does not end"
trap '' TERM
exec tail -f /dev/null
