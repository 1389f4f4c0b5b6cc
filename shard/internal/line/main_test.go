package line

import (
	"testing"

	"github.com/shardq/shardq/internal/testscale"
)

// TestMain scales the models.
func TestMain(m *testing.M) {
	testscale.Rapid(100)
	m.Run()
}
