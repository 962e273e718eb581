#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The counterpart of all the others: a runner that calls everything a failure is no use either.
echo "TAP version 13"
echo "1..1"
echo "ok 1 passes"
