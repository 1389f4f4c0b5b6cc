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
		require.Equal(t, want, Of(item, 20).String())
	}
	require.Regexp(t, `^\(\*int\)\(0x[0-9a-f]+\)$`, Of(&number, 100).String(), "the pointer is not followed")
}

// TestLength: Length counts the whole text, however much of it is kept.
func TestLength(t *testing.T) {
	require.Equal(t, Text{"12345", 5}, Of("12345", 5))
	require.Equal(t, Text{"12345", 6}, Of("123456", 5))
	require.Equal(t, Text{"{1234", 4 + 2000}, Of(named{"1234", strings.Repeat("x", 1997)}, 5))
	require.Equal(t, Text{"", 3}, Of("世", 2), "no rune fits")
	require.Equal(t, Text{"\x80\x80", 9}, Of(strings.Repeat("\x80", 9), 2), "invalid UTF-8")
	require.True(t, strings.HasSuffix(Of([70]uint8{}, 1000).Beginning, " 0 … 6 more]"))
	// The beginning ends in the fourth element. The 64 further parts are two of
	// that, twelve elements of five parts each, and two of the next.
	require.Equal(t, len("[[   ]")+15*len(" [   ]")+len(" [ … 3 more] … 65519 more]"), Of(huge{}, 20).Length)
}
