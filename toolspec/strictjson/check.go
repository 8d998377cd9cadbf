package strictjson

// MaxDepth is how deeply arrays and objects may nest, in instances and in
// schema documents.
const MaxDepth = 64

// Check reports the first fault that keeps raw from being one strict JSON
// value, or nil: bad syntax, text behind the value, a repeated object key, bad
// UTF-8, nesting deeper than [MaxDepth], or a number that no float64 holds
// (1e400, 1e-400, more than 1100 characters). Two readers of JSON that passes
// see the same value. It does not bound the size: callers do.
func Check(raw []byte) *Fault {
	t, fault := Read(raw)
	t.Release()
	return fault
}
