package contract

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/shardq/shardq/shard"
)

// An itemKind is a type of items of a program.
type itemKind interface {
	name() string
	// show returns the item at a place of the table in readable form.
	show(place int) string
	// start makes a queue of these items, and its model.
	start(t failer, s setup) player
}

// universe is the table of items of one type. The special ones are the first.
type universe[T comparable] struct {
	items []T
	// number has a number for each item: the place of the first item that is
	// equal to it.
	number map[T]int
	// stable says that the type supports Options.StableRouting.
	stable bool
}

func newUniverse[T comparable](items ...T) *universe[T] {
	u := &universe[T]{items: items, number: map[T]int{}}
	for place, item := range items {
		if unhashable(item) || item != item {
			continue
		}
		if _, known := u.number[item]; !known {
			u.number[item] = place
		}
	}
	_, err := shard.StableRoute[T]()
	u.stable = err == nil
	return u
}

// unhashable reports whether item cannot be a key of a map.
func unhashable[T comparable](item T) (panics bool) {
	defer func() { panics = recover() != nil }()
	_ = map[T]bool{}[item]
	return false
}

func (u *universe[T]) item(place int) T { return u.items[modulo(place, len(u.items))] }

func (u *universe[T]) name() string { return reflect.TypeFor[T]().String() }

// GoString keeps the table out of the output of rapid.
func (u *universe[T]) GoString() string { return u.name() }

func (u *universe[T]) show(place int) string {
	if strings.HasPrefix(u.name(), "*") {
		return fmt.Sprintf("pointer %d", modulo(place, len(u.items))) // addresses differ from run to run
	}
	return fmt.Sprintf("%#v", u.item(place))
}

var (
	ints     = newUniverse(append([]int{0, 1, 2, 3, -1, math.MaxInt, math.MinInt}, numbers(largeUniverse)[7:]...)...)
	texts    = newUniverse(append([]string{"", "a", "\x00", "a\x00", strings.Repeat("long", 50)}, formatted("key %d")...)...)
	floats   = newUniverse(0, math.Copysign(0, -1), math.NaN(), 1.5, math.Inf(1), math.Inf(-1), math.MaxFloat64, 2.5)
	requests = newUniverse(request{}, request{"a", ""}, request{"", "a"}, request{"a", "a"}, request{"a", "b"})
	weighted = newUniverse(notEqualToItself{}, notEqualToItself{"a", math.Copysign(0, -1)}, notEqualToItself{"a", 0},
		notEqualToItself{"a", math.NaN()}, notEqualToItself{"", math.NaN()}, notEqualToItself{"a", 1})
	arrays   = newUniverse([2]string{}, [2]string{"a"}, [2]string{"", "a"}, [2]string{"a", "a"})
	pointers = newUniverse(nil, new(int), new(int), new(int), new(int))
	anything = newUniverse[any](nil, 0, int64(0), 0.0, math.Copysign(0, -1), math.NaN(), "", false, []int{1},
		[1]any{map[string]int{}}, [1]any{math.NaN()}, [1]any{nil}, [1]any{0}, (*int)(nil), request{}, uint8(0), "a")
)

// largeUniverse is the number of items of the types that have many.
const largeUniverse = 600

// formatted returns texts that differ in a number.
func formatted(format string) (texts []string) {
	for i := range largeUniverse {
		texts = append(texts, fmt.Sprintf(format, i))
	}
	return texts
}
