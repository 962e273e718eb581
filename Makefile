# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Targets for people. The rules are in kernel/Kbuild, user/Makefile, selftests/Makefile and
# scripts/; everything that is built goes to build/.

KERNEL ?= 6.1
TESTS ?= *
DESTDIR ?=
# of make fuzz, soak, hostile
CALLS ?= 1000000
SEED ?=
MINUTES ?= 10

B := $(CURDIR)/build
MODDIR = $(B)/kernel-$(KERNEL)/kernel
KO = $(MODDIR)/ib_uverbs_share.ko
PROVIDER = $(B)/kernel-$(KERNEL)/selftests/provider
VM = scripts/vm/run --kernel $(KERNEL) --ko $(KO)

.PHONY: all help setup modules lib selftests demo check check-debug lint format hosttests vm vmtest \
	bench fuzz soak hostile install \
	modules_install clean

all: modules lib ## build the module for KERNEL and the library

help: ## list the targets
	@sed -n 's/^\([a-z_]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo "variables: KERNEL=6.1|6.12|debug-6.1|debug-6.12 (now $(KERNEL)) TESTS='glob of names' V=1 DESTDIR="
	@echo "DEBUG=yes|no of check: with the debug kernel, without (else if it is in the cache)"

setup: ## install what is missing on this machine, fetch the kernels (once)
	@scripts/setup
	@case $(KERNEL) in debug-*) scripts/debug-kernel $(KERNEL:debug-%=%) ;; esac

modules: setup ## build ib_uverbs_share.ko for KERNEL in build/kernel-KERNEL/
	@scripts/mirror $(B)/kernel-$(KERNEL) kernel include selftests/provider
	+@$(MAKE) -C "$$(scripts/kernel $(KERNEL) KDIR)" M=$(MODDIR) modules
	+@$(MAKE) -C "$$(scripts/kernel $(KERNEL) KDIR)" M=$(PROVIDER) modules

lib: setup ## build libibvshare and its tools in build/user/
	+@$(MAKE) -C user O=$(B)/user

selftests: lib ## build the test programs for the VM in build/selftests/
	+@$(MAKE) -C selftests O=$(B)/selftests

demo: modules lib ## two processes share a QP, in a VM (a minute, needs nothing before)
	@$(VM) --results $(B)/results/demo-$(KERNEL) --exec scripts/demo-guest

check: ## everything: lint, host tests, VM tests; on the debug kernel as well, if it is in the cache
	@scripts/check $(DEBUG:%=--$(if $(filter no,$(DEBUG)),no-)debug)

check-debug: ## the VM tests on the debug kernel of KERNEL, which is built if it is missing
	@scripts/check-debug $(KERNEL:debug-%=%)

lint: setup ## style, static analysis, layouts, symbols, man pages
	@scripts/lint

format: ## have clang-format rewrite user/ and selftests/
	@find user selftests -name '*.[ch]' -exec clang-format -i {} +

hosttests: lib ## the library's unit tests, under sanitizers, without a VM
	@scripts/hosttests

vm: modules selftests ## a shell in the VM, module loaded, rxe0 and rxe1 made
	@$(VM) --results $(B)/results/shell-$(KERNEL) --shell

vmtest: modules selftests ## run the selftests that match TESTS in a VM with KERNEL
	@scripts/vmtest $(KERNEL) '$(TESTS)'

bench: modules selftests ## measure, in a VM with KERNEL
	@scripts/bench $(KERNEL)

fuzz: modules selftests ## CALLS random calls from SEED on, in a VM with KERNEL
	@scripts/vmtest $(KERNEL) fuzz --results $(B)/results/fuzz-$(KERNEL) --slow 1000 \
		--env FUZZ_CALLS=$(CALLS) --env FUZZ_SEED=$(SEED)

soak: modules selftests ## use of shares against their end, MINUTES long, in a VM with KERNEL
	@scripts/vmtest $(KERNEL) 'soak soak_rings' --results $(B)/results/soak-$(KERNEL) \
		--slow 1000 --env SOAK_SECONDS=$$(($(MINUTES) * 60))

hostile: modules selftests ## an importer that scribbles on rings, MINUTES long, in a VM with KERNEL
	@HOSTILE=1 scripts/vmtest $(KERNEL) hostile --results $(B)/results/hostile-$(KERNEL) \
		--slow 1000 --env HOSTILE_SECONDS=$$(($(MINUTES) * 60))

install: lib ## install library, headers, tools and man pages below DESTDIR
	+@$(MAKE) -C user O=$(B)/user DESTDIR=$(DESTDIR) install

modules_install: modules ## install the module for KERNEL below DESTDIR
	+@$(MAKE) -C "$$(scripts/kernel $(KERNEL) KDIR)" M=$(MODDIR) \
		INSTALL_MOD_PATH=$(DESTDIR) modules_install

clean: ## remove build/ (the kernels stay in the cache)
	rm -rf $(B)
