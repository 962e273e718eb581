#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# All is well, but for the kernel.
echo "TAP version 13"
echo "1..1"
echo "WARNING: deliberate" > /dev/kmsg
echo "ok 1 warns"
