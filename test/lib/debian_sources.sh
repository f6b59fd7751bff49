# Debian's mirrors, and PostgreSQL's source packages from them.  To be sourced
# by bash after test/lib/private_server.sh.
#
#   get_source 17
#   dpkg-source -x "$(source_description 17)" tree
#
# What is downloaded stays in the cache: ~/.cache/sware, or the directory that
# SWARE_CACHE names. Sources that are in its subdirectory "source" already are
# not downloaded again.
#
# The machine's own list of package sources is not changed; what apt is told
# and what it learns are in the cache, too.

cache=${SWARE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sware}
sources=$cache/source
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the addresses from which this machine gets its own packages.
debian_mirror()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' |
		awk '$1 ~ /\/debian\/?$/ && !found { print $1; found = 1 }'
}

debian_security_mirror()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' |
		awk '$2 ~ /-security$/ && !found { print $1; found = 1 }'
}

# Prints the lines that a list of package sources needs for a Debian release.
#
#   package_sources deb|deb-src RELEASE
package_sources()
{
	local type=$1 release=$2 main security

	main=$(debian_mirror)
	security=$(debian_security_mirror)
	[ -n "$main" ] || fail "this machine's package sources name no Debian mirror"
	echo "$type [signed-by=$debian_keyring] $main $release main"
	case $release in
		forky | sid | experimental) ;;
		*) [ -z "$security" ] || echo "$type [signed-by=$debian_keyring] $security $release-security main" ;;
	esac
}

# Prints the Debian releases in which a version of PostgreSQL is to be found.
releases_of()
{
	case $1 in
		15) echo bookworm ;;
		# None: its source package has to be in the cache.
		16) ;;
		17) echo trixie ;;
		18) echo forky sid ;;
		19) echo sid experimental ;;
		*) fail "PostgreSQL $1 is not one of 15 to 19" ;;
	esac
}

# apt with a configuration and a state of its own. It runs as the user that
# runs this script.
private_apt()
{
	apt-get -qq -o Dir::Etc::SourceList="$cache/apt/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$cache/apt/state" -o Dir::Cache="$cache/apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@"
}

# Prints the name of the file that describes the source package of a version,
# or nothing.
source_description()
{
	# The newest, if there are several.
	find "$sources" -name "postgresql-$1_*.dsc" 2>/dev/null | sort -V | tail -n 1
}

# Downloads the source package of a version, unless it is there. Where the
# newest one is on no mirror, that of the release itself serves.
get_source()
(
	version=$1

	[ -z "$(source_description "$version")" ] || exit 0
	releases=$(releases_of "$version") || exit 1
	[ -n "$releases" ] ||
		fail "no release of Debian has PostgreSQL $version; put its source package into $sources"
	mkdir -p "$sources" "$cache/apt/state/lists/partial" "$cache/apt/cache/archives/partial" || exit 1
	for release in $releases; do
		package_sources deb-src "$release"
	done >"$cache/apt/sources.list" || exit 1
	private_apt update || exit 1
	cd "$sources" || exit 1
	private_apt source --download-only "postgresql-$version" && exit
	for release in $releases; do
		private_apt source --download-only "postgresql-$version/$release" && exit
	done
	exit 1
)
