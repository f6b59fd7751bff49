# sware: a sortedness-aware index access method for PostgreSQL
#
#   make                 builds against the pg_config found in PATH
#   make PG_CONFIG=...   builds against another server
#   make WERROR=1        turns every warning into an error
#   make FAULT_POINTS=1  lets tests stop or fail at named points (test/faultpoints)
#   make install         installs into that server
#   make installcheck    runs the SQL and isolation tests on a running server, which
#                        has the settings of test/regress.conf
#   make installcheck-pgtap  runs the pgTAP tests on a running server that has pgTAP
#   make indent          lays the sources out as pgindent does (test/indent)
#   make dist            makes an archive of the last commit, for PGXN
#
# test/run builds and runs everything, on a private copy of the server.

EXTENSION = sware
MODULE_big = sware
PGFILEDESC = "sware - sortedness-aware index access method"
FAULT_SOURCES = $(wildcard test/faultpoints/*.c)
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)) \
	$(if $(FAULT_POINTS),$(FAULT_SOURCES)))
DATA = $(wildcard sware--*.sql)

# setup makes the helpers that the other tests use.
REGRESS = setup $(filter-out setup,$(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql))))
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
# Tests that name fault points need a library that has them.
ifndef FAULT_POINTS
NEED_FAULT_POINTS := $(basename $(notdir $(shell \
	grep -l sware.fault_ sql/*.sql test/isolation/specs/*.spec)))
REGRESS := $(filter-out $(NEED_FAULT_POINTS),$(REGRESS))
ISOLATION := $(filter-out $(NEED_FAULT_POINTS),$(ISOLATION))
endif
REGRESS_OPTS = --encoding=UTF8 --no-locale --load-extension=sware
ISOLATION_OPTS = $(REGRESS_OPTS) --inputdir=test/isolation --outputdir=output_iso
EXTRA_CLEAN = output_iso results regression.diffs regression.out \
	$(FAULT_SOURCES:.c=.o)

# The server's headers count as system headers, so that -Wextra speaks of this
# extension only. Callback signatures are given by the server: unused
# parameters are none of our doing.
#
# Most of the code runs once in a statement, and then it costs most to fetch it. So calls
# go straight to the function, not through a stub; in SHLIB_LINK the library's own
# functions and variables are found without a look at a table.
PG_CPPFLAGS = -Isrc -isystem $(includedir_server)
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) \
	-fno-plt -fno-semantic-interposition \
	$(if $(FAULT_POINTS),-DSWARE_FAULT_POINTS -Itest/faultpoints)

# Calls of these go to functions of test/faultpoints/faultrequest.c, which can fail.
WRAPPED = palloc palloc0 repalloc repalloc_huge MemoryContextAlloc MemoryContextAllocZero \
	MemoryContextAllocHuge MemoryContextAllocExtended pstrdup AllocSetContextCreateInternal \
	hash_create hash_search index_form_tuple CopyIndexTuple LockPage \
	ReadBuffer ReadBufferExtended ExtendBufferedRelBy smgrextend
SHLIB_LINK = $(if $(filter linux,$(PORTNAME)),-Wl$(comma)-Bsymbolic) \
	$(if $(FAULT_POINTS),$(addprefix -Wl$(comma)--wrap=,$(WRAPPED)))
comma = ,

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Test modules call functions of the library, which servers from 16 on would hide.
ifdef FAULT_POINTS
override CFLAGS += -fvisibility=default
endif

# Tests of ICU's collations need a server that was built with ICU.
ifneq ($(with_icu),yes)
NEED_ICU := $(basename $(notdir $(shell \
	grep -lE 'provider = icu|x-icu' sql/*.sql test/isolation/specs/*.spec)))
REGRESS := $(filter-out $(NEED_ICU),$(REGRESS))
ISOLATION := $(filter-out $(NEED_ICU),$(ISOLATION))
endif

# PGXS tracks header dependencies only if the server was configured to.
HEADERS_OF_SWARE = $(wildcard src/*.h src/*/*.h test/faultpoints/*.h)
$(OBJS) $(OBJS:.o=.bc): $(HEADERS_OF_SWARE)

DISTRIBUTION = sware-$(shell sed -n 's/^   "version": "\(.*\)",$$/\1/p' META.json)
.PHONY: dist indent installcheck-pgtap
indent:
	test/indent

dist:
	git archive --format=zip --prefix=$(DISTRIBUTION)/ --output=$(DISTRIBUTION).zip HEAD

# A database is made for these tests, and dropped. pg_prove is pgTAP's.
PGTAP = $(sort $(wildcard test/pgtap/*.sql))
PGTAP_DATABASE = contrib_regression_pgtap
installcheck-pgtap:
	$(bindir)/createdb $(PGTAP_DATABASE)
	$(bindir)/psql -qX -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION pgtap' \
		-c 'CREATE EXTENSION sware' $(PGTAP_DATABASE) && \
		pg_prove $(PROVE_FLAGS) --dbname $(PGTAP_DATABASE) $(PGTAP); \
		status=$$?; $(bindir)/dropdb $(PGTAP_DATABASE); exit $$status

# clang is handed the warning options of the compiler that built the server.
ifneq (,$(findstring clang,$(CC)))
override CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument
endif
