# Compiling sware with every warning an error.  To be sourced by bash.

# Compiles a copy of the checkout, test modules included, with a compiler
# against a server's headers; what the compiler says goes to a file.
#
#   compile_strictly DIRECTORY PG_CONFIG COMPILER LOG
compile_strictly()
{
	local directory=$1 pg_config=$2 compiler=$3 log=$4 part

	# Objects of another compiler or server may be there.  The bitcode for
	# the JIT compiler is made from the same sources, so it is left out.
	for part in "$directory" "$directory"/test/modules/*/ "$directory/test/core"; do
		make -s -C "$part" clean PG_CONFIG="$pg_config" with_llvm=no &&
		make -s -k -C "$part" -j "$(nproc)" WERROR=1 CC="$compiler" \
			PG_CONFIG="$pg_config" with_llvm=no || return 1
	done
} >"$4" 2>&1 </dev/null
