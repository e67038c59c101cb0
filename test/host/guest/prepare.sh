#!/bin/sh
# A customize hook of mmdebstrap: makes a plain Debian 12 into the guest that has nothing of Holdfast yet.
#
#   prepare.sh <root of the guest> <directory of this file> <package>…
#
# The packages are fetched and not installed: the guest has no network, and set-up's own apt run has to find them somewhere.
set -eu
root=$1 files=$2
shift 2
APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get --yes --quiet --no-install-recommends --download-only \
  -oDPkg::Chroot-Directory="$root" install "$@"
mkdir -p "$root/srv/debian" "$root/usr/local/lib/holdfast-test"
mv "$root"/var/cache/apt/archives/*.deb "$root/srv/debian/"
for file in "$root"/srv/debian/*.deb; do
  dpkg-deb --field "$file"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$file")" "$(stat -c %s "$file")" \
    "$(sha256sum "$file" | cut -d ' ' -f 1)"
done > "$root/srv/debian/Packages"
chmod -R a+rX "$root/srv/debian"

cp "$files/hand.mjs" "$root/usr/local/lib/holdfast-test/"
cp "$files/holdfast-test.service" "$root/etc/systemd/system/"
chroot "$root" systemctl enable --quiet holdfast-test.service
echo holdfast-guest > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 holdfast-guest\n' > "$root/etc/hosts"
printf '/dev/vda / ext4 defaults 0 1\n' > "$root/etc/fstab"
