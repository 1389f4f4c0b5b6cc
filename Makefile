# The gate is .ci/run. This file has the commands for daily work, and longer
# checks, which need a machine of their own and a night.

.DEFAULT_GOAL := help
.PHONY: help check clauses gate soak stress fuzz mutants models

help: ## list what make can do
	@echo 'make TARGET, where TARGET is one of:'
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## /{printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The packages of the root module with files that differ from HEAD.
changed = $(shell { git diff --name-only --diff-filter=d HEAD -- '*.go'; git ls-files --others --exclude-standard '*.go'; } | \
	xargs -r dirname | sort -u | sed 's|^|./|' | xargs -r go list -e -f '{{if not .DepOnly}}{{.Dir}}{{end}}' 2>/dev/null)

check: ## before a commit: format, vet, tests of the packages that changed, documents
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	@packages='$(changed)'; if [ -n "$$packages" ]; then go vet $$packages && go test -short $$packages; fi
	@go test ./docs

clauses: ## after a change in the root, shard, worker or coalesce: the test of every clause
	go test -short ./test/contract ./test/traces

gate: ## what must pass before a change lands
	bash .ci/run

# make -k soak goes on after a failure.
soak: stress fuzz mutants models ## all of the below: a night

SOAK ?= 1h
SEED ?= $(shell date +%Y%m%d)000000
stress: ## random workloads under the race detector; SOAK=8h for longer
	go run -C stress -race . -duration $(SOAK) -seed $(SEED)

# Before Go 1.27 the end of FUZZ fails a run now and then, having found nothing
# (https://go.dev/issue/75804).
FUZZ ?= 15m
fuzz: ## every fuzz target; FUZZ=1h for longer
	go test -run '^$$' -fuzz '^FuzzQueue$$' -fuzztime $(FUZZ) ./test/contract
	go test -run '^$$' -fuzz '^FuzzCoalescer$$' -fuzztime $(FUZZ) ./test/contract
	go test -run '^$$' -fuzz '^FuzzPool$$' -fuzztime $(FUZZ) ./test/contract
	go test -run '^$$' -fuzz '^FuzzTable$$' -fuzztime $(FUZZ) ./shard/internal/items
	go test -run '^$$' -fuzz '^FuzzWheel$$' -fuzztime $(FUZZ) ./timerwheel
	go test -run '^$$' -fuzz '^FuzzLimiter$$' -fuzztime $(FUZZ) ./limiter

mutants: ## plant each mistake, and see that its test finds it
	go run ./test/mutants

models: ## the protocols in larger bounds, which needs Spin, and long model runs
	SHARDQ_SOAK=1 SHARDQ_REQUIRE_SPIN=1 go test -count=1 -timeout 60m ./test/proof/...
	SHARDQ_SCALE=100 go test -count=1 -timeout 120m -run 'Model|Litmus' ./...
