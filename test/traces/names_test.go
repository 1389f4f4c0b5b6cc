package traces

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Items that count up may be written as a range: a1..a300. A name that ends in
// a number has two parts, the stem and the number.

// numbered returns the two parts of a name. It reports false if the name has no
// number, or one with leading zeros.
func numbered(name string) (stem string, number int, ok bool) {
	stem = strings.TrimRight(name, "0123456789")
	digits := name[len(stem):]
	number, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(number) != digits {
		return name, 0, false
	}
	return stem, number, true
}

// expand replaces every range by the names that it stands for.
func expand(words []string) ([]string, error) {
	var names []string
	for _, word := range words {
		first, last, isRange := strings.Cut(word, "..")
		if !isRange {
			names = append(names, word)
			continue
		}
		stem, from, ok := numbered(first)
		lastStem, to, lastOK := numbered(last)
		if !ok || !lastOK || stem != lastStem || from >= to {
			return nil, fmt.Errorf("%s is no range: want one like a1..a9", word)
		}
		for number := from; number <= to; number++ {
			names = append(names, stem+strconv.Itoa(number))
		}
	}
	return names, nil
}

// compress is the inverse of expand. Three names or more that count up become a
// range.
func compress(names []string) []string {
	var words []string
	for len(names) > 0 {
		n := run(names)
		if n < 3 {
			words = append(words, names[0])
			names = names[1:]
			continue
		}
		words = append(words, names[0]+".."+names[n-1])
		names = names[n:]
	}
	return words
}

// run returns how many of the first names count up by one.
func run(names []string) int {
	stem, first, ok := numbered(names[0])
	for i, name := range names {
		if !ok || name != stem+strconv.Itoa(first+i) {
			return max(i, 1)
		}
	}
	return len(names)
}

// list writes names one after the other.
func list(names []string) string { return strings.Join(compress(names), " ") }

// sorted returns the names in their natural order: a2 before a10.
func sorted(names []string) []string {
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		aStem, aNumber, _ := numbered(a)
		bStem, bNumber, _ := numbered(b)
		return cmp.Or(cmp.Compare(aStem, bStem), cmp.Compare(aNumber, bNumber))
	})
}
