package debugpage

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
)

// formatCount returns 1,234,567. A test in a browser compares the formats of
// the script.
func formatCount[N int | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// formatDuration rounds down to at least two digits: 1.2 ms, 3 m 05 s.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + formatDuration(-max(d, -math.MaxInt64)) // also of the most negative duration
	case d == 0:
		return unknown
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return withUnit(d, time.Microsecond, " µs")
	case d < time.Second:
		return withUnit(d, time.Millisecond, " ms")
	case d < time.Minute:
		return withUnit(d, time.Second, " s")
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %02d m", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s d %02d h", formatCount(int64(d/day)), d%day/time.Hour)
}

func withUnit[N time.Duration | uint64](d, unit N, name string) string {
	if d < 10*unit {
		return fmt.Sprintf("%d.%d%s", d/unit, d%unit/(unit/10), name)
	}
	return fmt.Sprintf("%d%s", d/unit, name)
}

func formatShare(part float64) string {
	percent := part * 100
	switch {
	case percent == 0 || percent >= 10:
		return fmt.Sprintf("%d %%", int(percent))
	case percent < 0.1:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%d.%d %%", int(percent), int(percent*10)%10)
}

func formatRatio(ratio float64) string {
	tenths := int(ratio * 10)
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

func formatDecimal(number float64) string {
	if number >= 100 {
		return formatCount(uint64(math.Round(number)))
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func formatRate(perSecond float64) string {
	if perSecond > 0 && perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return formatCount(uint64(math.Round(perSecond)))
}

func formatBrief[N int | int64 | uint64](n N) string {
	if n < 10_000_000 {
		return formatCount(n)
	}
	return scaled(uint64(n), 1_000_000, " M", " G", " T", " P", " E")
}

func formatShort(n uint64) string {
	return orNone(n < 1000, formatCount(n), scaled(n, 1000, "k", "M", "G"))
}

func scaled(n, unit uint64, names ...string) string {
	for ; n/unit >= 1000 && len(names) > 1; names = names[1:] {
		unit *= 1000
	}
	return withUnit(n, unit, names[0])
}

const (
	maxKeyBytes   = 200 // that are shown
	maxErrorBytes = 600 // so that the end of what a queue keeps is shown
)

type shownKey struct {
	Text      string
	KeyLength int // in bytes if the text was cut, and otherwise 0
}

// showItem returns the text to show for an item, whose String method may panic.
// It quotes a misleading text, such as one that changes the direction of text.
func showItem(item any) shownKey { return showUpTo(maxKeyBytes, item) }

func showUpTo(most int, item any) shownKey {
	t := keytext.Of(item, most)
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

func (rd *reader) key(item any) shownKey {
	return redact(maxKeyBytes, rd.handler.options.RedactKey, rd.name, item)
}

func (rd *reader) group(group string) shownKey {
	return redact(maxKeyBytes, rd.handler.options.RedactGroup, rd.name, group)
}

func redact[V any](most int, with func(queue string, value V) string, queue string, value V) (shown shownKey) {
	if with == nil {
		return showItem(value)
	}
	defer func() {
		if recover() != nil {
			shown = shownKey{Text: "(redacting it panicked)"}
		}
	}()
	return showUpTo(most, with(queue, value))
}

// errorHidden replaces a text that may have what other options hide.
const errorHidden = "(hidden, because keys or groups are: see Options.RedactError)"

func (rd *reader) errorText(text string) shownKey {
	options, shown := rd.handler.options, showUpTo(maxErrorBytes, text)
	switch {
	case options.RedactError != nil:
		shown = redact(maxErrorBytes, func(queue, whole string) string {
			text = options.RedactError(queue, whole)
			return text
		}, rd.name, wholeWords(text))
		if text == "" && shown == showItem("") { // its quotes would be misleading
			return shownKey{}
		}
	case options.RedactKey != nil || options.RedactGroup != nil:
		return shownKey{Text: errorHidden}
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
