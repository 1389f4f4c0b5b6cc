package docs_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An oldName is a public name that has changed. CHANGELOG.md has the table of
// them, and the new names.
type oldName struct {
	name string
	// whole matches the name where it is the old one.
	whole *regexp.Regexp
}

// oldNames returns names that were in a place: %s stands for the name.
func oldNames(place, names string) (all []oldName) {
	for name := range strings.FieldsSeq(names) {
		pattern := strings.ReplaceAll(place, "%s", regexp.QuoteMeta(name))
		all = append(all, oldName{name, regexp.MustCompile(pattern)})
	}
	return all
}

var allOldNames = slices.Concat(
	// These names were unique.
	oldNames(`\b%s\b`, `NewWorkers NewSourceWorkers NewCoalescerWorkers WorkerOptions OnGiveUp ClaimOwner ClaimToken
		ClaimReturn FailureReporter Workplace MustCoalescer CoalescerOptions CoalescerDrainError ItemInfo ItemState
		ShardInfo GroupInfo LookAtRetries QueueView LowerLevelEvery WaitingPolicy DropWaiting RunWaiting AwaitWaiting
		TakeRetries HeldBack GivenUp CountBackOff ShardqGiveUps ShardqHeldBack PartSize BackedOff`),
	// These were in package shardq, and have left it.
	oldNames(`\bshardq\.%s\b|\[%s\]([^(]|$)`, `Must Workers Pending Retried Observable Waiting`),
	oldNames(`\bshardq\.%s\b`, `Failure PanicError RequeueAfter Permanent ErrGoexit Parallelize NewCoalescer MaxBatchSize
		Source NewClaim Claim ErrClaimEnded Drainer Coalescer MaxValueWeight Ready Processing Metrics Histogram Values
		ReturnReason ReturnRetry ReturnRequeue ReturnRelease`),
	// These were fields.
	oldNames(`\b(Stats|Stats\(\)|stats|Snapshot|DrainOptions|DrainError|Canceled)\.%s\b`, `Waiting Fired Exceeded`),
	oldNames(`\b(Stats|Stats\(\))\.%s\b`, `Merged`),
	// These were fields of JSON.
	oldNames(`"%s"`, `lowerLevelEvery heldBack givenUp exceeded fired backedOff`),
	// These were metrics.
	oldNames(`\b%s`, `shardq_waiting_items shardq_held_back_groups shardq_merged_adds shardq_ended_delays shardq_give_ups
		shardq_exceeding_adds shardq_pending_excesses shardq.waiting.items shardq.held_back.groups shardq.merged.adds
		shardq.ended.delays shardq.give_ups shardq.exceeding.adds shardq.pending.excesses`),
)

// mayHaveOldNames are files that name what was renamed, with the reason.
var mayHaveOldNames = map[string]string{
	"CHANGELOG.md":          "the table of old and new names",
	"docs/oldnames_test.go": "the list of old names",
}

// texts are the extensions of files with text. Those without are such as
// Makefile.
var texts = []string{"", ".go", ".md", ".html", ".js", ".css", ".json", ".yaml", ".txt", ".patch", ".tmpl", ".pml", ".sh", ".mod"}

// TestOldNamesAreGone: no file but CHANGELOG.md has the public names that have
// changed.
func TestOldNamesAreGone(t *testing.T) {
	for file, text := range read(t, func(file string) bool { return slices.Contains(texts, path.Ext(file)) }) {
		if mayHaveOldNames[file] != "" {
			continue
		}
		for _, old := range allOldNames {
			if !strings.Contains(text, old.name) {
				continue
			}
			for _, found := range old.whole.FindAllStringIndex(text, -1) {
				line := 1 + strings.Count(text[:found[0]], "\n")
				assert.Fail(t, "an old name", "%s:%d: %s", file, line, text[found[0]:found[1]])
			}
		}
	}
}
