package debugpage

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
)

// maxKeyBytes limits the bytes that are shown of a key.
const maxKeyBytes = 200

// A shownKey is a key as it is shown: short, printable, and on one line.
type shownKey struct {
	text string
	// length is the length of the key in bytes if the text was cut, and
	// otherwise 0.
	length int
}

// showItem returns the text to show for an item. The item may have a String
// method, which may panic.
func showItem(item any) shownKey { return newShownKey(keytext.Of(item, maxKeyBytes)) }

// showText returns the text to show for a string.
func showText(text string) shownKey { return showItem(text) }

// newShownKey quotes a text that would be misleading: one with control
// characters, characters that change the direction of text, or invalid UTF-8.
func newShownKey(t keytext.Text) shownKey {
	shown := shownKey{text: t.Beginning}
	visible := shown.text
	if t.IsCut() {
		shown.length = t.Length
		visible = strings.TrimRight(visible, " ") // an ellipsis follows the spaces
	}
	if deceptive(visible) {
		shown.text = strconv.Quote(shown.text)
	}
	return shown
}

// redact returns the text that a user's function returns, or says that it
// panicked.
func redact(with func() string) (shown shownKey) {
	defer func() {
		if recover() != nil {
			shown = shownKey{text: "(redacting it panicked)"}
		}
	}()
	return showText(with())
}

// deceptive reports whether a text needs quotes: if it is empty, begins with a
// quote or a space, ends with a space, or contains a character that is not
// printable.
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

// withEllipsis returns the text, and an ellipsis if it is cut.
func (k shownKey) withEllipsis() string {
	if k.length == 0 {
		return k.text
	}
	return k.text + "…"
}

// inWords returns the text, and its length if it is cut.
func (k shownKey) inWords() string {
	if k.length == 0 {
		return k.text
	}
	return k.text + "… (" + formatCount(k.length) + " bytes)"
}
