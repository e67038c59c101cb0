#!/bin/sh
# Puts files into a guest's disk image. Run in a mount namespace of its own, so that nothing stays mounted whatever happens.
#
#   fill.sh <image> <mount point> <directory whose content goes to /> 
set -eu
mount -o loop "$1" "$2"
cp -a --no-target-directory "$3" "$2"
umount "$2"
