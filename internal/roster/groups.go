package roster

import (
	"cmp"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/topk"
)

// Others is the name under which the groups are added up that are not among the greatest.
const Others = "other"

// nameBytes is how much of the name of a group is shown.
const nameBytes = 128

// Groups returns so many groups by the names under which they are shown, those that hold the most,
// and the sum of all others as [Others], with which a group of that name is added up. It is nil if
// the queue has no groups, or panics when it is asked for them. Names are valid UTF-8 of at most 128
// bytes; groups whose names are then alike are added up.
// It goes through all groups of the queue, and keeps as many as are wanted.
func (r *Reading) Groups(limit int) (shown map[string]shardq.GroupInfo) {
	if !r.Configuration.Groups {
		return nil
	}
	defer func() {
		if shown == nil {
			_ = recover()
		}
	}()
	greatest, rest := greatest(r.Queue.Groups(), limit, byHeld)
	shown = map[string]shardq.GroupInfo{Others: rest}
	for _, g := range greatest {
		name := shownName(g.Group)
		shown[name] = sum(shown[name], g)
	}
	return shown
}

// greatest returns the groups that come first, at most so many, and the sum of the others.
func greatest(groups iter.Seq[shardq.GroupInfo], limit int, compare func(a, b shardq.GroupInfo) int) (kept []shardq.GroupInfo, rest shardq.GroupInfo) {
	most := topk.New(limit, compare)
	for g := range groups {
		if out, dropped := most.Add(g); dropped {
			rest = sum(rest, out)
		}
	}
	return most.Values(), rest
}

// byHeld orders groups with most items first, and then by their names.
func byHeld(a, b shardq.GroupInfo) int {
	return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Group, b.Group))
}

func sum(a, b shardq.GroupInfo) shardq.GroupInfo {
	a.Held += b.Held
	a.Ready += b.Ready
	a.Processing += b.Processing
	return a
}

// shownName returns what is shown of the name of a group. It is cut twice, for a byte that is not
// valid is shown as three.
func shownName(group string) string {
	return shortened(strings.ToValidUTF8(shortened(group), string(utf8.RuneError)))
}

// shortened returns the first bytes of a name that is too long, without the beginning of a
// character with which they end: three bytes at most. Other bytes that are not valid stay.
func shortened(name string) string {
	if len(name) <= nameBytes {
		return name
	}
	name = name[:nameBytes]
	for n := 1; n < utf8.UTFMax; n++ {
		last := name[len(name)-n:]
		if !utf8.RuneStart(last[0]) {
			continue
		}
		if !utf8.FullRuneInString(last) {
			return name[:len(name)-n]
		}
		break
	}
	return name
}
