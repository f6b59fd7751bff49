# A private PostgreSQL server with sware in it, for scripts that must change
# nothing outside a directory of their own.  To be sourced by bash.
#
# The server's installed files are copied below a directory, with the same
# absolute paths under it.  PostgreSQL finds its files relative to its
# executables, so the copy is complete in itself: sware is installed into the
# copy, and the machine's own PostgreSQL and its clusters are not touched.
#
#   set -euo pipefail
#   . test/lib/private_server.sh
#   root=$(mktemp -d)
#   trap 'stop_clusters; rm -rf "$root"' EXIT
#   install_packages "${SERVER_PACKAGES[@]}"
#   make_private_server "$root"
#   build_and_install_sware "$root"
#   start_cluster "$root/cluster" "shared_buffers = 1GB"
#   psql -c 'CREATE EXTENSION sware'
#
# What it reads:
#   PG_CONFIG          pg_config of the server to copy; default: that of
#                      Debian's PostgreSQL 15
#   CC                 compiler for sware; default: the one that built the server
#   SERVER_WRAPPER     a command that runs the server, such as valgrind with its
#                      options; default: none
#   SWARE_COVERAGE     a directory that gets gcc's notes on the objects (test/coverage)
# What it sets:
#   SERVER_PACKAGES    Debian packages that the default server and a build need
#   SERVER_USER        the user that runs the server
#   PRIVATE_PG_CONFIG  pg_config of the copy (after make_private_server)
#   PRIVATE_BIN        directory of the copy's programs, first in PATH
#   SWARE_BUILD        the copy of the checkout that was built; SERVER_USER may
#                      write to it (after build_and_install_sware)
#   PGHOST, PGPORT, PGUSER, PGDATABASE   the cluster started last
#
# It works for root, who must not run a server and for whom SERVER_USER is
# "nobody", and for any other user, who needs sudo when packages are missing.

DEBIAN_SERVER_PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config
PG_CONFIG=${PG_CONFIG:-$DEBIAN_SERVER_PG_CONFIG}

SERVER_PACKAGES=(build-essential)
if [ "$PG_CONFIG" = "$DEBIAN_SERVER_PG_CONFIG" ]; then
	SERVER_PACKAGES+=(postgresql-15 postgresql-server-dev-15)
fi

# runuser is in a directory that is not in every user's PATH.
PATH=$PATH:/usr/sbin:/sbin

# Settings of the caller's that would lead a client to some other server.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGDATA PGSERVICE \
	PGSERVICEFILE PGOPTIONS PGPASSFILE PGSYSCONFDIR

if [ "$(id -u)" -eq 0 ]; then
	SERVER_USER=nobody
else
	SERVER_USER=$(id -un)
fi

checkout_directory=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
running_clusters=()

fail()
{
	echo "$(basename "$0"): error: $*" >&2
	exit 1
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail "only root can do this, and there is no sudo: $*"
	fi
}

# Runs a command as SERVER_USER, in the current directory, which that user
# must be able to enter.
as_server_user()
{
	if [ "$(id -un)" = "$SERVER_USER" ]; then
		"$@"
	else
		runuser -u "$SERVER_USER" -- "$@"
	fi
}

is_installed()
{
	# The status is "install ok installed"; a hold replaces the first word.
	[[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == *" ok installed" ]]
}

# Installs those of the named Debian packages that are missing.
install_packages()
{
	local package missing=()

	command -v dpkg-query >/dev/null ||
		fail "this is not Debian; install packages like these and set PG_CONFIG: $*"
	for package in "$@"; do
		is_installed "$package" || missing+=("$package")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		return
	fi

	echo "Installing Debian packages: ${missing[*]}"
	apt_get update || fail "apt-get update failed"
	if [[ " ${missing[*]} " == *" postgresql-15 "* ]]; then
		install_without_cluster "${missing[@]}"
	else
		apt_get install "${missing[@]}"
	fi || fail "apt-get install failed"
}

# Debian's postgresql-15 makes and starts a cluster "main" when it is
# installed.  A drop-in file says no to that for the time of the installation.
install_without_cluster()
(
	drop_in=/etc/postgresql-common/createcluster.d/sware-private-server.conf

	# This package reads the file, and makes its directory.
	apt_get install postgresql-common || exit
	trap 'as_root rm -f "$drop_in"' EXIT
	as_root mkdir -p "$(dirname "$drop_in")" || exit
	echo "create_main_cluster = false" | as_root tee "$drop_in" >/dev/null || exit
	apt_get install "$@"
)

# apt-get; its output is shown only if it fails.
apt_get()
{
	local output

	output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" -q -y \
		--no-install-recommends -o DPkg::Lock::Timeout=600 2>&1 </dev/null) || {
		echo "$output" >&2
		return 1
	}
}

# Copies the server of PG_CONFIG below a directory.
make_private_server()
{
	local root=$1 bindir pkglibdir libdir sharedir includedir

	[ -x "$PG_CONFIG" ] || fail "there is no pg_config at $PG_CONFIG"
	bindir=$("$PG_CONFIG" --bindir)
	pkglibdir=$("$PG_CONFIG" --pkglibdir)
	sharedir=$("$PG_CONFIG" --sharedir)
	includedir=$("$PG_CONFIG" --includedir)

	# SERVER_USER has to get in; mktemp -d allows its owner only.
	chmod a+rx "$root"
	root=$(cd "$root" && pwd -P)
	(cd / && as_server_user test -x "$root") ||
		fail "user $SERVER_USER, who runs the server, cannot enter $root; set TMPDIR to use another place"

	# The member names are made relative, that is "usr/lib/..." below root.
	tar -C / -cf - "${bindir#/}" "${pkglibdir#/}" "${sharedir#/}" |
		tar -C "$root" -xf - --no-same-owner
	# SERVER_USER need not be able to read the libpq that the programs are linked with,
	# and the machine's own may be too old for them.
	libdir=$("$PG_CONFIG" --libdir)
	case $libdir in
		/lib/* | /usr/lib/*) ;;
		*)
			mkdir -p "$root$libdir"
			cp -P "$libdir"/libpq.so* "$root$libdir"
			export LD_LIBRARY_PATH=$root$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
			;;
	esac
	# Nothing is installed among the headers, so a link is enough.
	mkdir -p "$(dirname "$root$includedir")"
	ln -s "$includedir" "$root$includedir"

	PRIVATE_BIN=$root$bindir
	[ -z "${SERVER_WRAPPER:-}" ] || wrap_server
	PRIVATE_PG_CONFIG=$PRIVATE_BIN/pg_config
	PATH=$PRIVATE_BIN:$PATH
	# A server that cannot be moved would show the original's place here.
	[ "$("$PRIVATE_PG_CONFIG" --sharedir)" = "$root$sharedir" ] ||
		fail "the server of $PG_CONFIG does not work from a copy"
}

# Lets a command run the private server, but not what only makes a cluster or
# prints something and ends.
wrap_server()
{
	mv "$PRIVATE_BIN/postgres" "$PRIVATE_BIN/postgres-unwrapped"
	cat >"$PRIVATE_BIN/postgres" <<-END
		#!/bin/sh
		case \$1 in
			--boot | --check | --single | -V | --version | -C) wrapper= ;;
			*) wrapper='$SERVER_WRAPPER' ;;
		esac
		# what makes the server so much slower lets statements time out
		exec \$wrapper '$PRIVATE_BIN/postgres-unwrapped' "\$@" \${wrapper:+-c statement_timeout=0}
	END
	chmod a+x "$PRIVATE_BIN/postgres"
}

# Copies the checkout into a directory.
copy_checkout()
{
	tar -C "$checkout_directory" -cf - --exclude=./.git --exclude=./demo/out \
		--exclude=./bench/out --exclude=./packaging/out . |
		tar -C "$1" -xf - --no-same-owner
}

# Builds a copy of the checkout and installs it into the private server.
# Further arguments go to make.  What the compiler says is shown on failure.
build_and_install_sware()
{
	local root log

	root=$(cd "$1" && pwd -P)
	shift
	SWARE_BUILD=$root/build
	log=$root/build.log
	mkdir "$SWARE_BUILD"
	copy_checkout "$SWARE_BUILD"
	(
		# "set -e" has no effect here, because of the "||" below.
		# Objects that were made for another server may have come along.
		# Bitcode for the JIT compiler would double the time of the build.
		cd "$SWARE_BUILD" &&
		make -s clean PG_CONFIG="$PRIVATE_PG_CONFIG" with_llvm=no &&
		make -s -j "$(nproc)" PG_CONFIG="$PRIVATE_PG_CONFIG" with_llvm=no ${CC:+CC="$CC"} "$@" &&
		make -s install PG_CONFIG="$PRIVATE_PG_CONFIG" with_llvm=no ${CC:+CC="$CC"} "$@"
	) >"$log" 2>&1 || {
		cat "$log" >&2
		fail "sware could not be built"
	}
	if [ -n "${SWARE_COVERAGE:-}" ]; then
		(cd / && find "${SWARE_BUILD#/}" -name '*.gcno' -exec cp --parents -t "$SWARE_COVERAGE" {} +)
		chmod -R a+rwX "$SWARE_COVERAGE"
	fi
	if [ "$(id -un)" != "$SERVER_USER" ]; then
		chown -R "$SERVER_USER" "$SWARE_BUILD"
	fi
}

# Starts a cluster, which is made if it is not there yet.  The arguments after
# its directory are lines for postgresql.conf.  It listens on a socket in a
# directory beside it, and nowhere else.
start_cluster()
{
	local data=$1 setting
	shift

	if [ ! -d "$data" ]; then
		mkdir "$data" "$data.socket"
		if [ "$(id -un)" != "$SERVER_USER" ]; then
			chown "$SERVER_USER" "$data" "$data.socket"
		fi
		(
			cd "$data" &&
			as_server_user "$PRIVATE_BIN/initdb" -D "$data" -U postgres \
				--auth=trust --encoding=UTF8 --locale=C --no-sync
		) >"$data.log" 2>&1 || { cat "$data.log" >&2; fail "initdb failed"; }
	fi
	for setting in "listen_addresses = ''" \
		"unix_socket_directories = '$data.socket'" "$@"; do
		printf '%s\n' "$setting"
	done >>"$data/postgresql.conf"

	# The server does not write to this script's own output: a reader of that
	# would otherwise wait for it.
	(
		cd "$data" &&
		as_server_user "$PRIVATE_BIN/pg_ctl" -D "$data" -w -t 600 \
			-l "$data/server.log" start
	) >>"$data.log" 2>&1 </dev/null || {
		tail -n 30 "$data/server.log" >&2
		fail "the server did not start"
	}
	running_clusters+=("$data")

	export PGHOST=$data.socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# Stops a cluster.  The second argument is a shutdown mode of pg_ctl.
stop_cluster()
{
	local data=$1 mode=${2:-fast} other still_running=()

	for other in "${running_clusters[@]}"; do
		[ "$other" = "$data" ] || still_running+=("$other")
	done
	running_clusters=("${still_running[@]}")
	(
		cd "$data" &&
		as_server_user "$PRIVATE_BIN/pg_ctl" -D "$data" -m "$mode" -w -t 600 stop
	) >>"$data.log" 2>&1
}

# Stops all clusters that were started and not stopped: for a trap.
stop_clusters()
{
	local data

	for data in "${running_clusters[@]}"; do
		stop_cluster "$data" immediate || true
	done
}
