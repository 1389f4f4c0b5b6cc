package debugpage

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/stats"
)

func itemID(item any) string      { return fmt.Sprintf("%016x", maphash.Comparable(seed, item)) }
func groupID(group string) string { return fmt.Sprintf("%016x", maphash.String(seed, group)) }

const (
	maxShown   = 4096    // items that a handler remembers
	maxVisited = 200_000 // items that one request visits
)

// shownItems remembers the items that were shown last, and keeps them alive, so
// that an id leads to its item without a search.
type shownItems struct {
	mu sync.Mutex
	// recent takes the place of older when it has half of maxShown.
	recent, older map[string]any
}

func (s *shownItems) add(id string, item any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxShown/2 {
		s.recent, s.older = make(map[string]any), s.recent
	}
	s.recent[id] = item
}

func (s *shownItems) get(id string) (item any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item, ok = s.recent[id]; !ok {
		item, ok = s.older[id]
	}
	return item, ok
}

type choice struct {
	by, text string // "key", "item", which is an id, "group" or "worker"
	worker   int
}

// A foundReport has the items that a choice selects. It is complete unless
// there were more than one request visits.
type foundReport struct {
	Title              string   `json:"title"`
	Items              []entry  `json:"items"`
	Complete           bool     `json:"complete"`
	Group              entry    `json:"group,omitempty"`
	OldestReadySeconds any      `json:"oldestReadySeconds,omitempty"`
	Failure            entry    `json:"failure,omitempty"` // the first of Failures
	Failures           []entry  `json:"failures"`          // of an item, newest first
	Notices            []string `json:"notices"`

	choice  choice
	group   string            // the name of Group
	infos   []stats.Item[any] // of the rows
	matches int               // of all selected items
	exact   bool              // they are the items whose key is the text, and not those that begin with it
}

func (rd *reader) read(c choice) queueReport {
	if c.by == "" {
		return rd.whole()
	}
	return rd.guarded(func() queueReport {
		q := rd.overview()
		rd.now = rd.clock()
		q.Found = rd.search(rd.queue.Inspect(), c)
		switch c.by {
		case "item":
			if q.Found.Failures = rd.failuresOf(c.text); len(q.Found.Failures) > 0 {
				q.Found.Failure = q.Found.Failures[0]
			}
		case "group":
			for info := range rd.queue.Groups() {
				if groupID(info.Group) == c.text {
					q.Found.Group, q.Found.group = rd.groupOf(info, rd.queue.Stats().Ready), info.Group
					q.Found.OldestReadySeconds = q.Found.Group["oldestReadySeconds"]
					break
				}
			}
		}
		return q
	})
}

var states = []stats.State{stats.Processing, stats.Ready, stats.Delayed}

// search looks up one item if it can, and visits the others.
func (rd *reader) search(list stats.Inspection, c choice) *foundReport {
	titles := map[string]string{
		"item": "Item", "group": "Items of the group", "worker": "Items of worker " + formatCount(c.worker),
		"key": "Keys that begin with " + showItem(c.text).inWords(),
	}
	f := &foundReport{Title: titles[c.by], Complete: true, choice: c}
	var first stats.Item[any]
	found, others := false, true
	switch c.by {
	case "item":
		first, found, f.Complete = rd.byID(list, c.text)
		others = false
	case "key":
		first, found, others = rd.direct(list, c.text)
	}
	if found {
		f.add(first, true, rd.rows)
	}
	if others {
		f.Complete = visit(list, func(info stats.Item[any]) bool {
			if !found || info.Item != first.Item {
				rd.consider(f, info)
			}
			return true
		})
	}
	f.Items = each(f.infos, rd.item)
	f.Notices = f.notices()
	return f
}

// visit calls do with the items until it returns false, or there are too many.
func visit(list stats.Inspection, do func(stats.Item[any]) bool) (complete bool) {
	visited := 0
	for _, state := range states {
		for info := range list.All(state) {
			if visited++; visited > maxVisited {
				return false
			}
			if !do(info) {
				return true
			}
		}
	}
	return true
}

// byID looks up an item that a page has shown, and searches for any other.
// Unless complete, the queue may hold an item that was not found.
func (rd *reader) byID(list stats.Inspection, id string) (info stats.Item[any], found, complete bool) {
	if item, ok := rd.shown.get(id); ok {
		info, found = list.Lookup(item)
		return info, found, true
	}
	complete = visit(list, func(visited stats.Item[any]) bool {
		if itemID(visited.Item) == id {
			info, found = visited, true
		}
		return !found
	})
	return info, found, complete
}

func (rd *reader) consider(f *foundReport, info stats.Item[any]) {
	c, exact, selected := f.choice, false, false
	switch c.by {
	case "group":
		selected = groupID(info.Group) == c.text
	case "worker":
		selected = info.Worker == c.worker
	default:
		key := rd.key(info.Item).Text
		exact, selected = key == c.text, strings.HasPrefix(key, c.text)
	}
	if selected {
		f.add(info, exact, rd.rows)
	}
}

// add adds an item. The first exact match takes the place of all other items.
func (f *foundReport) add(info stats.Item[any], exact bool, limit int) {
	switch {
	case f.exact && !exact:
		return
	case exact && !f.exact:
		f.infos, f.matches, f.exact = nil, 0, true
	}
	f.matches++
	if len(f.infos) < limit {
		f.infos = append(f.infos, info)
	}
}

func (f *foundReport) isOne() bool {
	return f.Complete && f.matches == 1 && (f.choice.by == "item" || f.choice.by == "key")
}

// failuresOf returns the failures of an item that are kept. Of two at the same
// time, the discard is the last.
func (rd *reader) failuresOf(id string) []entry {
	failed, discarded := rd.queue.Inspect().RecentFailures(maxMaxRows)
	all := slices.DeleteFunc(slices.Concat(discarded, failed), func(f stats.Failure[any]) bool { return itemID(f.Item) != id })
	slices.SortStableFunc(all, func(a, b stats.Failure[any]) int { return b.Time.Compare(a.Time) })
	return each(all[:min(rd.rows, len(all))], rd.failedAttempt)
}

func (f *foundReport) notices() []string {
	switch {
	case !f.Complete:
		return []string{"The queue has more items than one request visits: only the first " + formatCount(maxVisited) + " were searched."}
	case f.choice.by == "item" && len(f.Items) == 0:
		return []string{"The queue does not hold this item: it is done, canceled or discarded."}
	}
	return []string{}
}

// direct looks up the item that is written as a text. Unless others, no other
// is.
func (rd *reader) direct(list stats.Inspection, text string) (info stats.Item[any], found, others bool) {
	item, ok := parseItem(kindOf(list), text)
	if !ok || !rd.isShownAs(item, text) {
		return info, false, true
	}
	info, found = list.Lookup(item)
	return info, found, !found || !rd.isPlain(item)
}

func kindOf(list stats.Inspection) (kind reflect.Type) {
	visit(list, func(info stats.Item[any]) bool {
		kind = reflect.TypeOf(info.Item)
		return false
	})
	return kind
}

func parseItem(kind reflect.Type, text string) (item any, ok bool) {
	if kind == nil {
		return nil, false
	}
	parsed, err := any(text), error(nil)
	switch zero := reflect.Zero(kind); {
	case zero.CanInt():
		parsed, err = strconv.ParseInt(text, 10, kind.Bits())
	case zero.CanUint():
		parsed, err = strconv.ParseUint(text, 10, kind.Bits())
	case kind.Kind() != reflect.String:
		return nil, false
	}
	return reflect.ValueOf(parsed).Convert(kind).Interface(), err == nil
}

// isShownAs reports whether a search for a text may find an item: by the shown
// text, or by the whole text if no option hides keys. direct asks before it
// looks the item up, so that its time does not tell whether the queue holds a
// hidden item.
func (rd *reader) isShownAs(item any, text string) bool {
	whole := keytext.Text{Beginning: text, Length: len(text)}
	return rd.handler.options.RedactKey == nil && keytext.Of(item, len(text)) == whole || rd.key(item).Text == text
}

// isPlain reports whether no other item is written as the same text.
func (rd *reader) isPlain(item any) bool {
	_, described := item.(fmt.Stringer)
	return rd.handler.options.RedactKey == nil && !described && reflect.TypeOf(item).String() == rd.options.Item
}
