package shardq

// A program instantiates [Queue] for its own key type, in a package that imports shardq
// and not shard. There the compiler can inline the small functions of shard only if
// shardq exports their bodies, and it exports the bodies of those that it has inlined
// itself (exportBody in cmd/compile/internal/noder/linker.go). So that it does, these
// types are instantiated here; the linker leaves them out. See docs/internals/decisions/0024.
var _ = []any{(*Queue[uint64])(nil), (*Coalescer[uint64, uint64])(nil), (*Workers[uint64])(nil)}
