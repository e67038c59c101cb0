#!/bin/sh
# A customize hook of mmdebstrap: makes a plain Debian 12 into the guest that has nothing of Holdfast yet.
#
#   prepare.sh <root of the guest> <package>…
#
# The packages that set-up installs are fetched and not installed: the guest has no network, and set-up's own apt run has to find them
# somewhere. What they depend on is installed here: unpacking it under emulation would take most of the test's time and show nothing.
set -eu
root=$1
shift
archive=$root/srv/debian
apt() {
  APT_CONFIG=$MMDEBSTRAP_APT_CONFIG DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet --no-install-recommends \
    -oDPkg::Chroot-Directory="$root" install "$@"
}
is_installed() {
  dpkg-query --admindir="$root/var/lib/dpkg" --show --showformat='${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed
}

mkdir -p "$archive"
apt --download-only "$@"
mv "$root"/var/cache/apt/archives/*.deb "$archive/"
dependencies=
for file in "$archive"/*.deb; do
  name=$(dpkg-deb --field "$file" Package)
  case " $* postgresql-15 postgresql-client-15 postgresql-common postgresql-client-common " in
    *" $name "*) ;;
    *) is_installed "$name" || dependencies="$dependencies $name" ;;
  esac
done
# Names of packages hold nothing that a shell would split or expand.
[ -z "$dependencies" ] || apt $dependencies
for file in "$archive"/*.deb; do
  if is_installed "$(dpkg-deb --field "$file" Package)"; then
    rm "$file"
    continue
  fi
  dpkg-deb --field "$file"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$file")" "$(stat -c %s "$file")" \
    "$(sha256sum "$file" | cut -d ' ' -f 1)"
done > "$archive/Packages"
chmod -R a+rX "$archive"

# The guest is booted with a copy of this kernel and initrd from outside; making the initrd again in there changes nothing.
echo 'update_initramfs=no' > "$root/etc/initramfs-tools/update-initramfs.conf"
echo holdfast-guest > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 holdfast-guest\n' > "$root/etc/hosts"
printf '/dev/vda / ext4 defaults 0 1\n' > "$root/etc/fstab"
