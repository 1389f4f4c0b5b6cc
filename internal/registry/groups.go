package registry

import (
	"cmp"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/stats"
)

// Others is the name of the sum of all groups that are not among the first.
const Others = "other"

// nameBytes limits the length of a group's name.
const nameBytes = 128

// Groups returns the limit groups that hold the most items, by name, and the
// sum of all other groups as [Others]. Names are valid UTF-8 of at most 128
// bytes. Groups whose shortened names are equal are added up, and a group that
// is named like Others is added to the sum. Groups visits all groups of the
// queue and uses memory for those that it returns.
//
// If the queue has no groups, or panics, Groups returns nil.
func (r *Reading) Groups(limit int) (shown map[string]stats.Group) {
	if !r.Configuration.Groups {
		return nil
	}
	defer func() {
		if shown == nil {
			_ = recover()
		}
	}()
	first, rest := largest(r.Queue.Groups(), limit, byHeld)
	shown = map[string]stats.Group{Others: rest}
	for _, g := range first {
		name := shownName(g.Group)
		shown[name] = sum(shown[name], g)
	}
	return shown
}

// largest returns at most limit groups, the first ones in the order of compare,
// and the sum of the others.
func largest(groups iter.Seq[stats.Group], limit int, compare func(a, b stats.Group) int) (kept []stats.Group, rest stats.Group) {
	most := topk.New(limit, compare)
	for g := range groups {
		if out, dropped := most.Add(g); dropped {
			rest = sum(rest, out)
		}
	}
	return most.Values(), rest
}

// byHeld orders groups by descending number of items held, and then by name.
func byHeld(a, b stats.Group) int {
	return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Group, b.Group))
}

func sum(a, b stats.Group) stats.Group {
	a.Held += b.Held
	a.Ready += b.Ready
	a.Processing += b.Processing
	return a
}

// shownName shortens a group's name and makes it valid UTF-8. It shortens
// twice, because an invalid byte becomes three bytes.
func shownName(group string) string {
	valid := strings.ToValidUTF8(keytext.Cut(group, nameBytes), string(utf8.RuneError))
	return keytext.Cut(valid, nameBytes)
}
