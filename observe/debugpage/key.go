package debugpage

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
)

// maxKeyBytes limits the bytes that are shown of a key.
const maxKeyBytes = 200

// A shownKey is a key as it is shown: short, printable, and on one line.
type shownKey struct {
	Text string
	// KeyLength is the length of the key in bytes if the text was cut, and
	// otherwise 0.
	KeyLength int
}

// showText returns the text to show for a string.
func showText(text string) shownKey { return showItem(text) }

// showItem returns the text to show for an item, whose String method may panic.
// It quotes a text that would be misleading: one with control characters,
// characters that change the direction of text, or invalid UTF-8.
func showItem(item any) shownKey {
	t := keytext.Of(item, maxKeyBytes)
	shown := shownKey{Text: t.Beginning}
	visible := shown.Text
	if t.IsCut() {
		shown.KeyLength = t.Length
		visible = strings.TrimRight(visible, " ") // an ellipsis follows the spaces
	}
	if deceptive(visible) {
		shown.Text = strconv.Quote(shown.Text)
	}
	return shown
}

// redact returns the text that a user's function returns, or says that it
// panicked.
func redact(with func() string) (shown shownKey) {
	defer func() {
		if recover() != nil {
			shown = shownKey{Text: "(redacting it panicked)"}
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
	return strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) })
}

// withEllipsis returns the text, and an ellipsis if it is cut.
func (k shownKey) withEllipsis() string { return k.Text + orNone(k.KeyLength > 0, "…", "") }

// inWords returns the text, and its length if it is cut.
func (k shownKey) inWords() string {
	return k.Text + orNone(k.KeyLength > 0, "… ("+formatCount(k.KeyLength)+" bytes)", "")
}

// key returns the text to show for an item.
func (rd *reader) key(item any) shownKey {
	if of := rd.handler.options.RedactKey; of != nil {
		return redact(func() string { return of(rd.name, item) })
	}
	return showItem(item)
}

// group returns the text to show for the name of a group.
func (rd *reader) group(group string) shownKey {
	if of := rd.handler.options.RedactGroup; of != nil {
		return redact(func() string { return of(rd.name, group) })
	}
	return showText(group)
}

// errorHidden is shown in place of a text that may have what other options
// hide.
const errorHidden = "(hidden, because keys or groups are: see Options.RedactError)"

// errorText returns the text to show for the text of an error.
func (rd *reader) errorText(text string) shownKey {
	options := rd.handler.options
	shown := showText(text)
	switch {
	case options.RedactError != nil:
		whole := wholeWords(text)
		shown = redact(func() string {
			text = options.RedactError(rd.name, whole)
			return text
		})
		if text == "" && shown == showText("") { // its quotes would be misleading
			return shownKey{}
		}
	case options.RedactKey != nil || options.RedactGroup != nil:
		return shownKey{Text: errorHidden}
	}
	if shown.KeyLength > 0 && strings.HasSuffix(text, "…") { // the queue has cut it: its length is not that of the error
		return shownKey{Text: shown.Text + "…"}
	}
	return shown
}

// wholeWords returns a text without the last word and with an ellipsis, if the
// queue has cut the text. RedactError may not recognize a secret by its
// beginning, which may be all that is left of the last word.
func wholeWords(text string) string {
	const ellipsis, least = "…", 512 // bytes of a text that the queue has cut
	if len(text) < least || !strings.HasSuffix(text, ellipsis) {
		return text
	}
	end := strings.LastIndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return ellipsis
	}
	_, size := utf8.DecodeRuneInString(text[end:])
	return text[:end+size] + ellipsis
}
