package traces

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A kind is a type of items, and how a trace names them.
type kind[T comparable] struct {
	parse func(name string) (T, error)
	name  func(item T) string
}

// An anyKind is a kind of any type.
type anyKind interface {
	// canonical returns the name that the queue's item has: -0 is 0.
	canonical(name string) (string, error)
	// open makes a queue of such items.
	open(s *settings, m *machinery) (namedQueue, error)
}

// kinds are the types that "with items" can name.
var kinds = map[string]anyKind{
	"string":  kind[string]{parseText, nameText},
	"int":     kind[int]{strconv.Atoi, strconv.Itoa},
	"float64": kind[float64]{parseFloat, nameFloat},
	"point":   kind[point]{parsePoint, nameOfPoint},
	"*string": kind[*string]{parsePointer, namePointer},
	"any":     kind[any]{parseAny, nameAny},
}

func (k kind[T]) canonical(name string) (string, error) {
	item, err := k.parse(name)
	if err != nil {
		return "", fmt.Errorf("%s is no item of a queue of %T", name, item)
	}
	return k.name(item), nil
}

// must is parse for a name that canonical has accepted.
func (k kind[T]) must(name string) T {
	item, err := k.parse(name)
	if err != nil {
		panic(err)
	}
	return item
}

// A string stands for itself, and "" for the empty one.

func parseText(name string) (string, error) { return strings.ReplaceAll(name, `"`, ""), nil }

func nameText(item string) string {
	if item == "" {
		return `""`
	}
	return item
}

func parseFloat(name string) (float64, error) { return strconv.ParseFloat(name, 64) }

func nameFloat(item float64) string {
	if item == 0 {
		return "0" // of both signs
	}
	return strconv.FormatFloat(item, 'f', -1, 64)
}

// A point, {1.5,2}, is a struct that may hold a NaN.
type point struct{ X, Y float64 }

func parsePoint(name string) (p point, err error) {
	x, y, _ := strings.Cut(strings.Trim(name, "{}"), ",")
	if p.X, err = parseFloat(x); err != nil {
		return p, err
	}
	p.Y, err = parseFloat(y)
	return p, err
}

func nameOfPoint(p point) string { return "{" + nameFloat(p.X) + "," + nameFloat(p.Y) + "}" }

// pointers has the pointer of each name. Different pointers are different
// items, even if they point to equal values.
var pointers = map[string]*string{}

func parsePointer(name string) (*string, error) {
	if name == "nil" {
		return nil, nil
	}
	if pointers[name] == nil {
		pointers[name] = &name
	}
	return pointers[name], nil
}

func namePointer(item *string) string {
	if item == nil {
		return "nil"
	}
	return *item
}

// An item of a queue of any is nil, a string, a slice, as in []int{1}, or a
// number, as in int64(1).

var conversion = regexp.MustCompile(`^(int|int64|float64)\((.*)\)$`)

func parseAny(name string) (any, error) {
	switch match := conversion.FindStringSubmatch(name); {
	case name == "nil":
		return nil, nil
	case strings.HasPrefix(name, "[]int{"):
		return []int{1}, nil
	case match != nil:
		return parseNumber(match[1], match[2])
	default:
		return parseText(name)
	}
}

func parseNumber(typ, literal string) (any, error) {
	value, err := parseFloat(literal)
	switch typ {
	case "int":
		return int(value), err
	case "int64":
		return int64(value), err
	default:
		return value, err
	}
}

func nameAny(item any) string {
	switch item := item.(type) {
	case nil:
		return "nil"
	case string:
		return nameText(item)
	case float64:
		if math.IsNaN(item) {
			return "float64(NaN)"
		}
		return "float64(" + nameFloat(item) + ")"
	case []int:
		return "[]int{1}"
	default:
		return fmt.Sprintf("%T(%v)", item, item)
	}
}
