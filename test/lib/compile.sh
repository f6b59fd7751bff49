# Compiling sware with every warning an error.  To be sourced by bash.

# Compiles a copy of the checkout with a compiler against a server's headers;
# what the compiler says goes to a file.
#
#   compile_strictly DIRECTORY PG_CONFIG COMPILER LOG
compile_strictly()
{
	local directory=$1 pg_config=$2 compiler=$3 log=$4

	# Objects of another compiler or server may be there.  The bitcode for
	# the JIT compiler is made from the same sources, so it is left out.
	make -s -C "$directory" clean PG_CONFIG="$pg_config" with_llvm=no &&
	make -s -k -C "$directory" -j "$(nproc)" WERROR=1 CC="$compiler" \
		PG_CONFIG="$pg_config" with_llvm=no
} >"$4" 2>&1 </dev/null
