package shard

// The parked levels of a shard are a binary heap, the highest first, in which each level
// knows its place: so one from which the last item was canceled can be taken out.

// park puts a level that has something, or is about to, into the heap.
func (l *levels) park(v *level, list fifo) {
	v.list = list
	l.ready += list.length
	l.byPriority[v.priority] = v // it may have been forgotten while it was served
	v.place = len(l.parked)
	l.parked = append(l.parked, v)
	l.rise(v)
}

// unpark takes a level out of the heap.
func (l *levels) unpark(place int) (v *level) {
	v = l.parked[place]
	v.place = unparked
	last := len(l.parked) - 1
	moved := l.parked[last]
	l.parked[last] = nil
	l.parked = l.parked[:last]
	if moved != v {
		moved.place = place
		l.parked[place] = moved
		l.rise(moved)
		l.sink(moved)
	}
	return v
}

func (l *levels) rise(v *level) {
	for v.place > 0 && l.parked[(v.place-1)/2].priority < v.priority {
		l.swap(v, l.parked[(v.place-1)/2])
	}
}

func (l *levels) sink(v *level) {
	for {
		child := 2*v.place + 1
		if child >= len(l.parked) {
			return
		}
		if child+1 < len(l.parked) && l.parked[child+1].priority > l.parked[child].priority {
			child++
		}
		if l.parked[child].priority < v.priority {
			return
		}
		l.swap(v, l.parked[child])
	}
}

func (l *levels) swap(a, b *level) {
	a.place, b.place = b.place, a.place
	l.parked[a.place], l.parked[b.place] = a, b
}
