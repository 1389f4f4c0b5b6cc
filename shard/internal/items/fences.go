package items

import "github.com/shardq/shardq/internal/chunked"

type fences struct {
	upper    chunked.Array[uint32] // the upper halves of fences, 0 until two billion adds
	canceled chunked.Array[uint64] // fences, marked as sealed, of items canceled meanwhile
}

func (t *Table) HasFences() bool { return t.fences != nil }

func (t *Table) needFences() {
	if t.fences == nil {
		t.fences = &fences{}
		AddColumn(t, &t.fences.upper)
		AddColumn(t, &t.fences.canceled)
	}
}

func (t *Table) SetUpperFence(id, upper uint32) {
	t.needFences()
	*chunked.Extend(&t.fences.upper, id) = upper
}

func (t *Table) FenceOf(id uint32, e *Entry) uint64 {
	if t.fences != nil {
		if upper := chunked.Lookup(&t.fences.upper, id); upper != nil {
			return uint64(*upper)<<32 | uint64(e.Fence)
		}
	}
	return uint64(e.Fence)
}

// NoteCancel remembers that an entry with that fence was canceled.
func (t *Table) NoteCancel(id uint32, fence uint64) {
	t.needFences()
	*chunked.Extend(&t.fences.canceled, id) = fence
}

// WasCanceled reports whether NoteCancel was called for that fence. The cell
// may have another fence, of an earlier processing.
func (t *Table) WasCanceled(id uint32, fence uint64) bool {
	if t.fences == nil {
		return false
	}
	cell := chunked.Lookup(&t.fences.canceled, id)
	return cell != nil && *cell == fence
}
