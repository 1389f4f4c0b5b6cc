package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRegressions runs the rounds that once found a fault, and a few more.
func TestRegressions(t *testing.T) {
	var out, errs bytes.Buffer
	code := command().Main([]string{"-rounds", "10", "-adds", "1000"}, &out, &errs)
	require.Zero(t, code, "%s%s", &out, &errs)
}

// TestBaselineBreaksTheDrain checks that stress finds the known fault of the
// heap design: a drain returns while items are ready.
func TestBaselineBreaksTheDrain(t *testing.T) {
	var out, errs bytes.Buffer
	code := command().Main([]string{
		"-target", "baseline", "-rounds", "50", "-adds", "2000", "-mix", "readd", "-ending", "drain",
	}, &out, &errs)
	require.Equal(t, 1, code)
	require.Contains(t, errs.String(), "C12 violated")
	require.Regexp(t, "again: go run (-race )?./stress -target baseline -seed", errs.String())
}
