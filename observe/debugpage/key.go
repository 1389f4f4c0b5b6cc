package debugpage

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
)

const maxKeyBytes = 200 // that are shown

// A shownKey is a key as it is shown: short, printable, and on one line.
type shownKey struct {
	Text      string
	KeyLength int // in bytes if the text was cut, and otherwise 0
}

// showItem returns the text to show for an item, whose String method may panic.
// It quotes a misleading text: one with control characters, characters that
// change the direction of text, or invalid UTF-8.
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

// deceptive reports whether a text needs quotes. A space at an end does, too.
func deceptive(text string) bool {
	if text == "" || text[0] == '"' || text[0] == ' ' || text[len(text)-1] == ' ' || !utf8.ValidString(text) {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) })
}

func (k shownKey) withEllipsis() string { return k.Text + orNone(k.KeyLength > 0, "…", "") }

func (k shownKey) inWords() string {
	return k.Text + orNone(k.KeyLength > 0, "… ("+formatCount(k.KeyLength)+" bytes)", "")
}

func (rd *reader) key(item any) shownKey { return redact(rd.handler.options.RedactKey, rd.name, item) }

func (rd *reader) group(group string) shownKey {
	return redact(rd.handler.options.RedactGroup, rd.name, group)
}

// redact returns what a user's function makes of a value, or that it panicked.
func redact[V any](with func(queue string, value V) string, queue string, value V) (shown shownKey) {
	if with == nil {
		return showItem(value)
	}
	defer func() {
		if recover() != nil {
			shown = shownKey{Text: "(redacting it panicked)"}
		}
	}()
	return showItem(with(queue, value))
}

// errorHidden replaces a text that may have what other options hide.
const errorHidden = "(hidden, because keys or groups are: see Options.RedactError)"

func (rd *reader) errorText(text string) shownKey {
	options, shown := rd.handler.options, showItem(text)
	switch {
	case options.RedactError != nil:
		shown = redact(func(queue, whole string) string {
			text = options.RedactError(queue, whole)
			return text
		}, rd.name, wholeWords(text))
		if text == "" && shown == showItem("") { // its quotes would be misleading
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

// wholeWords returns a text without the last word, if the queue has cut it
// there. RedactError may not recognize a secret by its beginning.
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
