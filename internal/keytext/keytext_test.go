package keytext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type named struct{ Tenant, Name string }

type panics struct{}

func (panics) String() string { panic("no") }

type huge [1 << 16][4]string

func TestOf(t *testing.T) {
	number := 7
	for want, item := range map[string]any{
		"invoice/17":                   "invoice/17",
		"{acme 17}":                    named{"acme", "17"},
		"[1 2]":                        [2]int{1, 2},
		"<nil>":                        nil,
		"true":                         true,
		"1.5":                          1.5,
		"(its String method panicked)": panics{},
		strings.Repeat("é", 10) + "…":  strings.Repeat("é", 1<<20),
		strings.Repeat("x", 19) + "…":  strings.Repeat("x", 19) + "é",
		"[[   ] [   ] [   ] [" + "…":   huge{},
	} {
		require.Equal(t, want, Of(item, 20))
	}
	require.Regexp(t, `^\(\*int\)\(0x[0-9a-f]+\)$`, Of(&number, 100), "what it points to is not looked at")
}
