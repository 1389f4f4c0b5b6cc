package debugpage

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/stats"
)

// direct looks up the item that is written as a text, without a search. It
// finds only strings and whole numbers, also of named types. If others is
// false, the item comes alone, because no other is written so. The page may
// still show others as the text: those that it cuts or quotes.
func (rd itemReader) direct(list stats.Inspection, text string) (info stats.Item[any], found, others bool) {
	item, ok := parseItem(rd.kind(list), text)
	if !ok || !rd.isShownAs(item, text) {
		return info, false, true
	}
	info, found = list.Lookup(item)
	return info, found, !found || !rd.isPlain(item)
}

// kind returns the type of the first item that a queue lists, or nil if it
// lists none.
func (rd itemReader) kind(list stats.Inspection) reflect.Type {
	for _, state := range states {
		for info := range list.All(state) {
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

// isShownAs reports whether a search for a text may find an item. The text that
// the page shows decides, as for the items that a search visits. If no option
// hides keys, so does the whole text of the item, neither cut nor quoted.
//
// direct asks before it looks the item up. So the time that it takes does not
// tell whether the queue holds an item that is shown as another text.
func (rd itemReader) isShownAs(item any, text string) bool {
	if rd.options.RedactKey == nil && keytext.Of(item, len(text)) == (keytext.Text{Beginning: text, Length: len(text)}) {
		return true
	}
	return rd.key(rd.queue, item).text == text
}

// isPlain reports whether no other item of the queue is written as the same
// text. With RedactKey, a String method, or items of several types, others may
// be.
func (rd itemReader) isPlain(item any) bool {
	_, described := item.(fmt.Stringer)
	return rd.options.RedactKey == nil && !described && reflect.TypeOf(item).String() == rd.configuration.Item
}
