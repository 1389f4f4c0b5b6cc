package debugpage

import (
	"strconv"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
)

// maxKeyBytes is how much of a key is shown.
const maxKeyBytes = 200

// A shownKey is a key as it is shown: short, printable, and on one line.
type shownKey struct {
	text string
	// length is how long the key is in bytes, if text is not all of it; otherwise 0.
	length int
}

// showItem returns an item as it is shown. An item may have a String method of its user's,
// which may panic.
func showItem(item any) shownKey { return newShownKey(keytext.Of(item, maxKeyBytes)) }

// showText returns a text as it is shown.
func showText(text string) shownKey { return showItem(text) }

// newShownKey quotes a text where it would not be seen for what it is, with control characters, those that change the
// direction of the text, or invalid UTF-8.
func newShownKey(t keytext.Text) shownKey {
	shown := shownKey{text: t.Beginning}
	if t.IsCut() {
		shown.length = t.Length
	}
	if deceptive(shown.text) {
		shown.text = strconv.Quote(shown.text)
	}
	return shown
}

// redact returns what a user's function says, or that it panicked.
func redact(with func() string) (shown shownKey) {
	defer func() {
		if recover() != nil {
			shown = shownKey{text: "(redacting it panicked)"}
		}
	}()
	return showText(with())
}

// deceptive reports whether a text needs quotes: it is empty, begins with a quote or a space, ends with
// a space, or has something in it that is not printable.
func deceptive(text string) bool {
	if text == "" || text[0] == '"' || text[0] == ' ' || text[len(text)-1] == ' ' || !utf8.ValidString(text) {
		return true
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return true
		}
	}
	return false
}

// inWords returns the text, and its length if it is cut.
func (k shownKey) inWords() string {
	if k.length == 0 {
		return k.text
	}
	return k.text + "… (" + formatCount(k.length) + " bytes)"
}
