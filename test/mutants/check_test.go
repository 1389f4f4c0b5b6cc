package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompilingIsNoVerdict: a check whose time is over before a test begins is
// no verdict. A check that ends while no test runs is one.
func TestCompilingIsNoVerdict(t *testing.T) {
	over := fmt.Errorf("%w within a minute", errTimeOver)
	_, err := report{}.judge(over)
	require.ErrorIs(t, err, errTimeOver)

	r, err := report{verdicts: []*verdict{{test: "TestA", ended: true}}}.judge(over)
	require.NoError(t, err)
	require.Equal(t, "TestMain", r.failed()[0].test)
	r, err = report{}.judge(errors.New("exit status 2"))
	require.NoError(t, err)
	require.Equal(t, "TestMain", r.failed()[0].test)
	r, err = report{verdicts: []*verdict{{test: "TestA", ended: true}}}.judge(nil)
	require.NoError(t, err)
	require.Empty(t, r.failed())
}
