package debugpage

import (
	"errors"
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

// itemID and groupID return a text that selects an item or a group in a
// request.
func itemID(item any) string      { return fmt.Sprintf("%016x", maphash.Comparable(seed, item)) }
func groupID(group string) string { return fmt.Sprintf("%016x", maphash.String(seed, group)) }

// maxShown limits the items that a handler remembers, and maxVisited those that
// one request visits.
const (
	maxShown   = 4096
	maxVisited = 200_000
)

// shownItems remembers the items whose ids were shown last, so that an id leads
// to its item without a search. It keeps these items alive. The zero value is
// empty.
type shownItems struct {
	mu sync.Mutex
	// recent and older have at most half of maxShown each. When recent is full,
	// it takes the place of older.
	recent, older map[string]any
}

// add remembers an item by its id.
func (s *shownItems) add(id string, item any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxShown/2 {
		s.recent, s.older = make(map[string]any), s.recent
	}
	s.recent[id] = item
}

// get returns the item with an id, if it is remembered.
func (s *shownItems) get(id string) (item any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item, ok = s.recent[id]; !ok {
		item, ok = s.older[id]
	}
	return item, ok
}

// A choice selects items of a queue by "key", "item", which is an id, "group"
// or "worker". It selects nothing if by is empty.
type choice struct {
	by, text string
	worker   int
}

func (c choice) title() string {
	switch c.by {
	case "item":
		return "Item"
	case "group":
		return "Items of the group"
	case "worker":
		return "Items of worker " + formatCount(c.worker)
	}
	return "Keys that begin with " + showText(c.text).inWords()
}

// A foundReport has the items that a choice selects. It is complete unless
// there were more items than one request visits. Group is the selected group,
// if it has items, and Failure the last failure of the selected item, if it is
// still kept.
type foundReport struct {
	Title              string  `json:"title"`
	Items              []entry `json:"items"`
	Complete           bool    `json:"complete"`
	Group              entry   `json:"group,omitempty"`
	OldestReadySeconds any     `json:"oldestReadySeconds,omitempty"`
	Failure            entry   `json:"failure,omitempty"`

	choice choice
	// infos are the items of the rows. All items that the choice selects are as
	// many as matches. If exact is set, these are the items whose key is the
	// text, and otherwise those that begin with it.
	infos   []stats.Item[any]
	matches int
	exact   bool
}

// read reads a queue, or the items of it that a choice selects.
func (rd *reader) read(c choice) (q queueReport, err error) {
	list, ok := rd.queue.(lister)
	switch {
	case c.by == "":
		return rd.whole(), nil
	case !ok:
		return q, errors.New("the items of this queue cannot be searched")
	}
	return rd.guarded(func() queueReport {
		q := rd.overview()
		rd.now = rd.clock()
		q.Found = rd.search(list, c)
		switch c.by {
		case "group":
			rd.describeGroup(q.Found)
		case "item":
			q.Found.Failure = rd.lastFailure(c.text)
		}
		return q
	}), nil
}

var states = []stats.State{stats.Processing, stats.Ready, stats.Delayed}

// search finds the items that a choice selects. It looks up one item if it can,
// and visits the others until one request has visited enough.
func (rd *reader) search(list lister, c choice) *foundReport {
	f := &foundReport{Title: c.title(), Complete: true, choice: c}
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
	return f
}

// visit calls do with the items of a queue, until it returns false. It reports
// whether there were no more items than one request visits.
func visit(list lister, do func(stats.Item[any]) bool) (complete bool) {
	visited := 0
	for _, state := range states {
		for info := range list.InspectItems(state) {
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

// byID returns the item with an id. It looks up an item that a page has shown,
// and searches for any other. If complete is false, the queue may hold an item
// that was not found.
func (rd *reader) byID(list lister, id string) (info stats.Item[any], found, complete bool) {
	if item, ok := rd.shown.get(id); ok {
		info, found = list.InspectItem(item)
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

// consider adds an item to the result if the choice selects it.
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

// add adds the item of a row. The first exact match takes the place of all
// other items.
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

// isOne reports whether the result is one item, selected by its key or its id.
func (f *foundReport) isOne() bool {
	return f.Complete && f.matches == 1 && (f.choice.by == "item" || f.choice.by == "key")
}

func (rd *reader) describeGroup(f *foundReport) {
	for info := range rd.queue.Groups() {
		if groupID(info.Group) == f.choice.text {
			f.Group = rd.groupOf(info, rd.queue.Stats().Ready)
			f.OldestReadySeconds = f.Group["oldestReadySeconds"]
			return
		}
	}
}

// lastFailure returns the last failure of an item that the queue keeps. Of two
// at the same time, the discard is the last.
func (rd *reader) lastFailure(id string) entry {
	failed, discarded := rd.queue.InspectFailures(maxMaxRows)
	var last *stats.Failure[any]
	for _, failures := range [][]stats.Failure[any]{discarded, failed} { // each has the newest first
		i := slices.IndexFunc(failures, func(f stats.Failure[any]) bool { return itemID(f.Item) == id })
		if i >= 0 && (last == nil || failures[i].Time.After(last.Time)) {
			last = &failures[i]
		}
	}
	if last == nil {
		return nil
	}
	return rd.failedAttempt(*last)
}

// notices say what the result lacks.
func (f *foundReport) notices() []string {
	switch {
	case !f.Complete:
		return []string{"The queue has more items than one request visits: only the first " + formatCount(maxVisited) + " were searched."}
	case f.choice.by == "item" && len(f.Items) == 0:
		return []string{"The queue does not hold this item: it is done, canceled or discarded."}
	}
	return nil
}

func isPaused(group entry) bool { return group["throttledBy"] == stats.ThrottledByPause.String() }

// direct looks up the item that is written as a text, a string or a whole
// number, without a search. If others is false, no other is written so.
func (rd *reader) direct(list lister, text string) (info stats.Item[any], found, others bool) {
	item, ok := parseItem(kindOf(list), text)
	if !ok || !rd.isShownAs(item, text) {
		return info, false, true
	}
	info, found = list.InspectItem(item)
	return info, found, !found || !rd.isPlain(item)
}

// kindOf returns the type of the first item that a queue lists, or nil if it
// lists none.
func kindOf(list lister) reflect.Type {
	for _, state := range states {
		for info := range list.InspectItems(state) {
			return reflect.TypeOf(info.Item)
		}
	}
	return nil
}

// parseItem returns the item of a type that is written as a text.
func parseItem(kind reflect.Type, text string) (item any, ok bool) {
	if kind == nil {
		return nil, false
	}
	value := reflect.New(kind).Elem()
	var err error
	switch {
	case kind.Kind() == reflect.String:
		value.SetString(text)
	case value.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, kind.Bits())
		value.SetInt(n)
	case value.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, kind.Bits())
		value.SetUint(n)
	default:
		return nil, false
	}
	return value.Interface(), err == nil
}

// isShownAs reports whether a search for a text may find an item: by the text
// that the page shows, or, if no option hides keys, by the whole text. direct
// asks before it looks the item up, so that its time does not tell whether the
// queue holds a hidden item.
func (rd *reader) isShownAs(item any, text string) bool {
	if rd.handler.options.RedactKey == nil && keytext.Of(item, len(text)) == (keytext.Text{Beginning: text, Length: len(text)}) {
		return true
	}
	return rd.key(item).Text == text
}

// isPlain reports whether no other item is written as the same text. With
// RedactKey, a String method, or items of several types, others may be.
func (rd *reader) isPlain(item any) bool {
	_, described := item.(fmt.Stringer)
	return rd.handler.options.RedactKey == nil && !described && reflect.TypeOf(item).String() == rd.options.Item
}
