#!/bin/sh
# The last hook of mmdebstrap: $1 is the root of the new image, $2 the directory with what is copied in. Runs in mmdebstrap's user
# namespace as a user without rights on the host.
set -eu
root="$1"
extras="$2"

install -m 0755 "$extras/node" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
tar -x -z -f "$extras/npm.tgz" -C "$root/usr/local/lib/node_modules" --no-same-owner
mv "$root/usr/local/lib/node_modules/package" "$root/usr/local/lib/node_modules/npm"
rm -rf "$root/usr/local/lib/node_modules/npm/docs" "$root/usr/local/lib/node_modules/npm/man"
chmod -R u=rwX,go=rX "$root/usr/local/lib/node_modules"
chmod 0755 "$root/usr/local/lib/node_modules/npm/bin/npm-cli.js" "$root/usr/local/lib/node_modules/npm/bin/npx-cli.js"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"

# What a cell gets from outside is bound over these: they must be plain files and directories, never links.
for file in etc/hosts etc/hostname etc/resolv.conf etc/machine-id; do
  rm -f "$root/$file"
  : > "$root/$file"
  chmod 0644 "$root/$file"
done
printf '127.0.0.1 localhost\n::1 localhost\n' > "$root/etc/hosts"
mkdir -p "$root/work" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp"
chmod 1777 "$root/tmp"

# Credentials of the host's mirror stay on the host.
find "$root/etc/apt" -name '*.list' -exec sed -i -E 's#(https?://)[^/@ ]*@#\1#' {} +
printf 'Acquire::Languages "none";\nAPT::Install-Recommends "false";\n' > "$root/etc/apt/apt.conf.d/90small"
printf '[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n' > "$root/etc/gitconfig"

# Services do not start by themselves in a cell; there is no init for them.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 0755 "$root/usr/sbin/policy-rc.d"

# Deleting afterwards; dpkg's path-exclude doubles the time of the build.
find "$root/usr/share/doc" -mindepth 1 -not -name copyright -not -type d -delete
find "$root/usr/share/doc" -mindepth 1 -type d -empty -delete
rm -rf "$root/usr/share/man" "$root/usr/share/info" "$root/usr/share/groff" "$root/usr/share/lintian" "$root/usr/share/linda"
find "$root/usr/share/locale" -mindepth 1 -maxdepth 1 -not -name 'en*' -exec rm -rf {} +
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log \
  "$root"/var/log/apt/* "$root"/var/cache/debconf/*-old "$root"/var/cache/ldconfig/aux-cache
mkdir -p "$root/usr/share/man/man1" "$root/var/lib/apt/lists/partial"

# Cells are mounted nosuid; a setuid bit in the image would be real only where it must not be.
find "$root" -xdev -type f -perm /6000 -exec chmod ug-s {} +
