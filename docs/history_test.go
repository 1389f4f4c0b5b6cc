package docs_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// since is the day from which commit subjects follow the form.
const since = "2026-11-23T00:00:00Z"

// subject is the form of the subject of a commit: "package: verb object". It
// may name several packages.
var subject = regexp.MustCompile(`^[a-z0-9.][\w./-]*(, [a-z0-9.][\w./-]*)*: [a-z]\S* \S`)

// TestCommitSubjects checks the subjects of commits, without those of merges.
// It is skipped where there is no history, as in an archive.
func TestCommitSubjects(t *testing.T) {
	output, err := exec.Command("git", "-C", root, "log", "--no-merges", "--since="+since, "--format=%s").Output()
	if err != nil {
		t.Skip("there is no history:", err)
	}
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSuffix(line, "\n")
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 60, "the subject is too long: %s", line)
		assert.Regexp(t, subject, line, "want package: verb object")
	}
}
