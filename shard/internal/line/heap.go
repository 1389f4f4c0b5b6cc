package line

import "github.com/shardq/shardq/shard/internal/items"

func (l *levels) insert(v *level, list items.List) {
	v.list = list
	l.ready += list.Length
	v.place = len(l.heap)
	l.heap = append(l.heap, v)
	l.rise(v)
}

func (l *levels) remove(place int) (v *level) {
	v = l.heap[place]
	v.place = notInHeap
	last := len(l.heap) - 1
	moved := l.heap[last]
	l.heap[last] = nil
	l.heap = l.heap[:last]
	if moved != v {
		moved.place = place
		l.heap[place] = moved
		l.rise(moved)
		l.sink(moved)
	}
	return v
}

func (l *levels) rise(v *level) {
	for v.place > 0 && l.heap[(v.place-1)/2].priority < v.priority {
		l.swap(v, l.heap[(v.place-1)/2])
	}
}

func (l *levels) sink(v *level) {
	for child := 2*v.place + 1; child < len(l.heap); child = 2*v.place + 1 {
		if child+1 < len(l.heap) && l.heap[child+1].priority > l.heap[child].priority {
			child++
		}
		if l.heap[child].priority < v.priority {
			return
		}
		l.swap(v, l.heap[child])
	}
}

func (l *levels) swap(a, b *level) {
	a.place, b.place = b.place, a.place
	l.heap[a.place], l.heap[b.place] = a, b
}
