# Longer checks than the gate's (.ci/run), which takes minutes. A machine of its own
# and a night suit them better than a shared one.

.PHONY: soak stress fuzz mutants gremlins models survey adversaries

# soak is everything that the gate has only a share of, or nothing. make -k soak goes on after
# a failure.
soak: stress fuzz mutants gremlins models adversaries survey

# stress: SOAK=8h make stress goes on for longer; the seed is that of the day.
SOAK ?= 1h
SEED ?= $(shell date +%Y%m%d)000000
stress:
	go run -race ./stress -duration $(SOAK) -seed $(SEED)
	go run -race ./stress/values -duration $(SOAK) -seed $(SEED)

# fuzz: FUZZ is how long each target goes on. Before Go 1.27 the end of that time fails a run
# now and then, having found nothing (https://go.dev/issue/75804).
FUZZ ?= 15m
fuzz:
	go test -run '^$$' -fuzz '^FuzzQueue$$' -fuzztime $(FUZZ) .
	go test -run '^$$' -fuzz '^FuzzSet$$' -fuzztime $(FUZZ) ./shard
	go test -run '^$$' -fuzz '^FuzzTable$$' -fuzztime $(FUZZ) ./shard
	go test -run '^$$' -fuzz '^FuzzWheel$$' -fuzztime $(FUZZ) ./timerwheel
	go test -run '^$$' -fuzz '^FuzzLimiter$$' -fuzztime $(FUZZ) ./limiter

mutants:
	go run ./mutants

# gremlins: those that are made by rule. mutants/README.md tells which may live.
gremlins:
	@if command -v gremlins >/dev/null; then bash mutants/gremlins.sh; \
	else echo 'gremlins is not installed: its mutants are not tried'; fi

# models: the protocols in their larger bounds, which needs Spin, and long model runs.
models:
	SHARDQ_SOAK=1 SHARDQ_REQUIRE_SPIN=1 go test -count=1 -timeout 60m ./proof/...
	go test -count=1 -timeout 60m -run 'Model' -rapid.checks 20000 .

adversaries:
	go run -C bench/compare ./cmd/adversary

# survey: which clauses shardq and the other queues break, under the same checks.
survey:
	go run ./stress -survey -adds 20000
	go run ./stress -target baseline -survey -adds 20000
	go run -C bench/compare ./cmd/stress -target client-go -survey -adds 20000
	go run -C bench/compare ./cmd/stress -target controller-runtime -survey -adds 20000
