package debugpage

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/stats"
)

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
