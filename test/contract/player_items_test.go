package contract

import (
	"reflect"
	"sync"

	"github.com/shardq/shardq/stats"
)

// The model names items. In queues of interfaces and of pointers, the item a is
// nil (C9).

var (
	pointersMu sync.Mutex
	pointers   = map[string]*string{"a": nil}
)

func pointerTo(name string) *string {
	pointersMu.Lock()
	defer pointersMu.Unlock()
	if _, known := pointers[name]; !known {
		pointers[name] = &name
	}
	return pointers[name]
}

func itemOf[T any](name string) (item T) {
	switch to := any(&item).(type) {
	case *string:
		*to = name
	case **string:
		*to = pointerTo(name)
	case *any:
		if name != "a" {
			*to = name
		}
	}
	return item
}

func nameOf(item any) string {
	switch item := item.(type) {
	case string:
		return item
	case *string:
		if item != nil {
			return *item
		}
	}
	return "a"
}

func itemsOf[T any](names []string) (items []T) {
	for _, name := range names {
		items = append(items, itemOf[T](name))
	}
	return items
}

func namesOf[T any](items []T) (names []string) {
	for _, item := range items {
		names = append(names, nameOf(item))
	}
	return names
}

func rowOf[T comparable](row stats.Item[T]) stats.Item[string] {
	return stats.Item[string]{
		Item: nameOf(row.Item), State: row.State, Dirty: row.Dirty, Since: row.Since, Deadline: row.Deadline,
		Priority: row.Priority, Attempts: row.Attempts, Shard: row.Shard, Group: row.Group, Worker: row.Worker,
	}
}

func addOf[T comparable](a stats.Add[T]) stats.Add[string] {
	return stats.Add[string]{
		Item: nameOf(a.Item), Priority: a.Priority, Expired: a.Expired, Raised: a.Raised, Before: a.Before, Canceled: a.Canceled,
	}
}

func typeOf[T any]() string { return reflect.TypeFor[T]().String() }
