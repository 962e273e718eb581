#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A child that outlives it and would disturb what comes next.
echo "TAP version 13"
echo "1..1"
setsid sh -c 'trap "" TERM HUP; exec tail -f /dev/null' > /dev/null 2>&1 &
echo "ok 1 leaves a child behind"
