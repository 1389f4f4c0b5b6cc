package contract

import (
	"maps"
	"slices"
	"strconv"
)

// A line has the ready items of a shard, or of a group. A Get returns an item
// of a line whose turn it is: one of the highest priority there, and of these
// one that has been in line longest.
type line struct {
	name  string
	shard int // -1 until there is an item
	state lineState

	// turn is the moment at which the line joined the others. It stays in front
	// until served reaches the weight.
	turn, served, weight int
	// circle is its highest priority when it joined, if priorities go before
	// turns. Lines take turns within their circle.
	circle int

	// ranks has the moment at which each priority was served last, or got its
	// first item. takes counts the items handed out since the first request of
	// a priority that is not 0.
	ranks         map[int]int
	takes         int
	hasPriorities bool

	throttle
}

type lineState string

const (
	empty      lineState = "empty"      // nothing is ready
	selectable lineState = "selectable" // takes its turns
	throttled  lineState = "throttled"  // has ready items, and is blocked
)

func (m *model) grouped() bool { return m.setup.is("routing", "group") }

func (m *model) lineOf(e *entry) *line {
	if e.shard < 0 {
		e.shard = m.locate(e.item)
		if e.line = "shard " + strconv.Itoa(e.shard); m.grouped() {
			e.line = groupOf(e.item)
		}
	}
	l := m.needLine(e.line)
	l.shard = e.shard
	return l
}

func (m *model) needLine(name string) *line {
	if m.lines[name] == nil {
		m.lines[name] = &line{name: name, shard: -1, state: empty, ranks: map[int]int{}, throttle: newThrottle()}
	}
	return m.lines[name]
}

// in returns the items of a line for which what is true.
func (m *model) in(l *line, what func(e *entry) bool) (found []*entry) {
	for _, e := range m.items {
		if what(e) && m.lineOf(e) == l {
			found = append(found, e)
		}
	}
	return found
}

func (m *model) heldIn(l *line) int { return len(m.in(l, (*entry).held)) }

func (m *model) readyIn(l *line) []*entry {
	return m.in(l, func(e *entry) bool { return e.phase == ready })
}

// noteRequest notes that an add asks for a priority. A line whose items all
// have the priority 0 does not count its takes.
func (m *model) noteRequest(e *entry, priority int, always bool) { // C46
	l := m.lineOf(e)
	m.prioritized = m.prioritized || priority != 0
	l.hasPriorities = l.hasPriorities || always || priority != 0
}

// follow changes the ready items of an item's line.
func (m *model) follow(e *entry, change func()) {
	l := m.lineOf(e)
	change()
	m.update(l)
}

// update does to a line what follows from a change of its ready items.
func (m *model) update(l *line) { // C46, C47
	levels := m.levels(l)
	maps.DeleteFunc(l.ranks, func(priority, _ int) bool { return !slices.Contains(levels, priority) })
	for _, priority := range levels {
		if _, ranked := l.ranks[priority]; !ranked {
			l.ranks[priority] = m.moment
		}
	}
	switch {
	case len(levels) == 0:
		l.state, l.served = empty, 0
	case l.state == empty && l.blocked(m.inFlightOf(l)):
		l.state = throttled
	case l.state == empty, l.state == selectable && l.circle != m.circleFor(l):
		m.join(l)
	}
}

// levels returns the priorities of the ready items of a line, the highest
// first.
func (m *model) levels(l *line) (priorities []int) { // C45
	for _, e := range m.readyIn(l) {
		priorities = append(priorities, e.priority)
	}
	slices.Sort(priorities)
	slices.Reverse(priorities)
	return slices.Compact(priorities)
}

// join puts a line behind all others.
func (m *model) join(l *line) { // C47
	l.state = empty
	l.turn, l.served, l.circle = m.moment, 0, m.circleFor(l)
	if len(m.circle(l.shard, l.circle)) == 0 {
		m.circles[[2]int{l.shard, l.circle}] = m.takes[l.shard]
	}
	l.state = selectable
}

func (m *model) prioritiesFirst() bool {
	return m.grouped() && m.setup.is("priorities before turns", "yes")
}

// circleFor returns the circle in which a line belongs.
func (m *model) circleFor(l *line) int { // C66
	if levels := m.levels(l); m.prioritiesFirst() && len(levels) > 0 {
		return levels[0]
	}
	return 0
}

// circle returns the lines that take turns.
func (m *model) circle(shard, priority int) (lines []*line) {
	for _, l := range m.lines {
		if l.state == selectable && l.shard == shard && l.circle == priority {
			lines = append(lines, l)
		}
	}
	return lines
}

// served returns the circle that a shard serves next.
func (m *model) servedCircle(shard int) (circle int) { // C66
	var circles []int
	for _, l := range m.lines {
		if l.state == selectable && l.shard == shard {
			circles = append(circles, l.circle)
		}
	}
	slices.Sort(circles)
	circles = slices.Compact(circles)
	if interval := m.interval(); interval > 0 && (m.takes[shard]+1)%interval == 0 {
		return slices.MinFunc(circles, func(a, b int) int {
			return m.circles[[2]int{shard, a}] - m.circles[[2]int{shard, b}]
		})
	}
	return circles[len(circles)-1]
}

func (m *model) interval() int { return m.setup.number("low priority interval") }

// mayTake reports whether a Get may return a ready item now.
func (m *model) mayTake(e *entry) bool { // C5, C45, C47, C48
	l := m.lineOf(e)
	switch {
	case l.state != selectable || !m.gate.allows(m.now) || m.lacksToken(l):
		return false
	case m.disordered:
		return true
	}
	circle := m.circle(l.shard, m.servedCircle(l.shard))
	first := slices.MinFunc(circle, func(a, b *line) int { return a.turn - b.turn })
	if l.circle != first.circle || l.turn != first.turn || !m.serves(l, e.priority) {
		return false
	}
	return !slices.ContainsFunc(m.readyIn(l), func(other *entry) bool {
		return other.priority == e.priority && other.place < e.place
	})
}

// serves reports whether a line may hand out an item of a priority next.
func (m *model) serves(l *line, priority int) bool { // C45, C46
	interval, highest := m.interval(), m.levels(l)[0]
	passedOver := l.ranks[priority] == slices.Min(slices.Collect(maps.Values(l.ranks)))
	switch {
	case !m.grouped() && m.counts.Shards > 1:
		// Consumers count for all shards, and prefer the shard that has the
		// highest priority.
		for _, other := range m.lines {
			if other.state == selectable {
				highest = max(highest, m.levels(other)[0])
			}
		}
		return priority == highest || interval > 0 && passedOver
	case interval > 0 && l.hasPriorities && (l.takes+1)%interval == 0:
		return passedOver
	}
	return priority == highest
}

// takeFrom takes an item out of its line, which may end the line's turn.
func (m *model) takeFrom(l *line, e *entry) { // C47
	if l.hasPriorities {
		l.takes++
	}
	m.takes[l.shard]++
	m.circles[[2]int{l.shard, l.circle}] = m.takes[l.shard]
	turn := l.turn
	e.phase = processing
	m.stamp(e)
	l.ranks[e.priority] = m.moment
	m.update(l)
	m.spendIn(l)
	if l.state != selectable || l.turn != turn {
		return
	}
	if l.served++; l.served >= l.weight {
		l.turn, l.served = m.moment, 0
		return
	}
	for _, other := range m.circle(l.shard, l.circle) {
		if other != l && other.turn == l.turn {
			l.turn-- // its turn has begun, so it comes before the others
			return
		}
	}
}
