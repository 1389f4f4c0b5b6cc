package debugpage

import "sync"

// maxShown limits the items that a handler remembers.
const maxShown = 4096

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
