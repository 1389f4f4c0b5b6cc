package line

// Changes are what others must learn of a line after a call.
type Changes struct {
	Throttled int32  // how many more groups are throttled
	Paused    int32  // how many more of them are paused
	Count     uint32 // of groups throttled, freed, or throttled for a new reason
	Wait      bool   // FirstWait may have changed
}

// HasChanged reports whether CanTake, Serves or Changes may return something else
// than when See was last called. It is asked after each call that may change them,
// except for Append and Pop.
func (l *Line) HasChanged() bool {
	switch {
	case l.groups != nil:
		return l.groups.changed
	case l.levels != nil:
		return l.levels.changed
	}
	return true
}

// See makes HasChanged false.
func (l *Line) See() {
	switch {
	case l.groups != nil:
		l.groups.changed = false
	case l.levels != nil:
		l.levels.changed = false
	}
}

func (l *Line) GroupsChanged() bool { return l.groups != nil && l.groups.changes != (Changes{}) }

// Changes returns how the groups have changed since it was last called.
func (l *Line) Changes() (c Changes) {
	if l.groups != nil {
		c, l.groups.changes = l.groups.changes, c
	}
	return c
}
