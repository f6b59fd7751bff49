# What the Makefiles of test modules have in common; they include this last.
MODULES_DIRECTORY := $(dir $(lastword $(MAKEFILE_LIST)))
PG_CPPFLAGS = -I$(MODULES_DIRECTORY)../../src -isystem $(includedir_server)
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# clang is handed the warning options of the compiler that built the server.
ifneq (,$(findstring clang,$(CC)))
override CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument
endif
