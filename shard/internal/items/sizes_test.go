package items

import (
	"math/bits"
	"testing"
	"unsafe"
)

type ObjectKey struct{ Namespace, Name string }

// TestEntrySizes: what an item costs. The documentation has the sizes on 64-bit
// platforms.
func TestEntrySizes(t *testing.T) {
	for _, test := range []struct {
		name               string
		got                uintptr
		want, wantOn32Bits uintptr
	}{
		{"cell[string]", unsafe.Sizeof(cell[string]{}), 32, 24},
		{"cell[uint64]", unsafe.Sizeof(cell[uint64]{}), 24, 24},
		{"cell[request]", unsafe.Sizeof(cell[ObjectKey]{}), 48, 32},
		{"slot", unsafe.Sizeof(slot(0)), 4, 4},
	} {
		want := test.want
		if bits.UintSize == 32 {
			want = test.wantOn32Bits
		}
		if test.got != want {
			t.Errorf("%s takes %d bytes, not %d", test.name, test.got, want)
		}
	}
}
