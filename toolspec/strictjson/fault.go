package strictjson

import (
	"strconv"
	"strings"
)

// Reason says why a text is not one strict JSON value.
type Reason int

// The reasons.
const (
	BadSyntax    Reason = iota // no JSON, bad UTF-8, or cut off
	RepeatedName               // two members of one object have the same name
	TrailingText               // something stands behind the value
	TooDeep                    // arrays and objects nest deeper than MaxDepth
	HugeNumber                 // no float64 holds the number as it is written
)

// Fault is the first place, in the order of the text, at which a text stops being
// one strict JSON value.
type Fault struct {
	Reason Reason
	// Path leads to the value that is wrong or missing; empty if it is the root or
	// where the reason says enough.
	Path Path
	// Offset is the index of the byte that cannot stand where it does, or the length of
	// a text that is cut off.
	Offset int
}

// The kinds of faults, as problems of arguments carry them.
const (
	InvalidJSON   = "invalid_json"   // not one strict JSON value
	TooComplex    = "too_complex"    // nested too deeply
	InexactNumber = "inexact_number" // no float64 holds the number as written
)

// Kind is the class of the fault.
func (f *Fault) Kind() string {
	switch f.Reason {
	case TooDeep:
		return TooComplex
	case HugeNumber:
		return InexactNumber
	default:
		return InvalidJSON
	}
}

// Error is a sentence that holds names of members, escaped and cut, and no value.
func (f *Fault) Error() string {
	message := "Invalid JSON"
	switch f.Reason {
	case TooDeep:
		return "JSON is nested too deeply"
	case HugeNumber:
		return "Number is not exact, send a string instead: " + f.Path.Field()
	case TrailingText:
		return "Invalid JSON: text behind the value"
	case RepeatedName:
		message = "Invalid JSON: repeated object key"
	case BadSyntax:
	}
	if len(f.Path) > 0 {
		message += " at " + f.Path.Field()
	}
	return message
}

// fault explains why the reading stopped at an offset. If a name is repeated before that offset,
// the fault is the repeated name. The tape keeps the items before the fault.
func (t *Tape) fault(at int) *Fault {
	if i := t.firstRepeated(); i >= 0 {
		f := &Fault{Reason: RepeatedName, Path: t.Path(i), Offset: int(t.Items[i].Start) - 1}
		t.Items = t.Items[:i]
		return f
	}
	f := &Fault{Reason: t.reason, Offset: at}
	switch t.reason {
	case HugeNumber:
		f.Path = t.Path(len(t.Items) - 1)
	case BadSyntax:
		f.Path = t.openPath()
	default:
	}
	return f
}

// firstRepeated is the first item that repeats the name of another member of its object,
// or -1.
func (t *Tape) firstRepeated() int {
	first := -1
	for i := range t.Items {
		if t.Items[i].Kind != '{' {
			continue
		}
		names := map[string]struct{}{}
		for j := i + 1; j < t.behind(i) && (first < 0 || j < first); j = t.behind(j + 1) {
			name := t.Text(j)
			if _, twice := names[name]; twice {
				first = j
				break
			}
			names[name] = struct{}{}
		}
	}
	return first
}

// isOpen reports whether the item at i is an array or an object whose end was not read.
func (t *Tape) isOpen(i int) bool {
	return i < len(t.Items) && t.Items[i].End == 0 && (t.Items[i].Kind == '{' || t.Items[i].Kind == '[')
}

// behind is the index behind the whole value at i, as far as it was read.
func (t *Tape) behind(i int) int {
	if i >= len(t.Items) || t.isOpen(i) {
		return len(t.Items)
	}
	return int(t.Items[i].Next)
}

// Path leads to the item at i, a value or a name.
func (t *Tape) Path(i int) Path {
	var p Path
	for at := 0; at < i; {
		child := at + 1
		if t.Items[at].Kind == '{' {
			for child != i && t.behind(child+1) <= i {
				child = t.behind(child + 1)
			}
			p = append(p, t.Text(child))
			if child == i {
				return p
			}
			at = child + 1
			continue
		}
		k := 0
		for ; t.behind(child) <= i; k++ {
			child = t.behind(child)
		}
		p = append(p, strconv.Itoa(k))
		at = child
	}
	return p
}

// openPath leads to where the reading stopped: to the value that was being read, or to
// the array or object that could not go on.
func (t *Tape) openPath() Path {
	var p Path
	for at := 0; t.isOpen(at); {
		k, child, name, end := 0, at+1, -1, int(t.Items[at].Start)+1
		for child < len(t.Items) {
			if t.Items[at].Kind == '{' {
				if name, child = child, child+1; child == len(t.Items) {
					return append(p, t.Text(name)) // its value is missing
				}
			}
			if t.isOpen(child) {
				break
			}
			end = t.offsetBehind(child)
			k, child = k+1, t.behind(child)
		}
		switch {
		case child < len(t.Items) && t.Items[at].Kind == '{':
			p = append(p, t.Text(name))
		case child < len(t.Items), t.Items[at].Kind == '[' && t.begins(end, k):
			p = append(p, strconv.Itoa(k))
		}
		at = child
	}
	return p
}

// offsetBehind is the offset behind the whole value at i.
func (t *Tape) offsetBehind(i int) int {
	if t.Items[i].Kind == '"' {
		return int(t.Items[i].End) + 1
	}
	return int(t.Items[i].End)
}

// begins reports whether another element of an array begins behind its first k elements. end is the
// offset behind these.
func (t *Tape) begins(end, k int) bool {
	at, never := t.space(end), ",:]}"
	if k > 0 {
		if at == len(t.raw) || t.raw[at] != ',' {
			return false
		}
		at, never = t.space(at+1), "]}"
	}
	return at < len(t.raw) && strings.IndexByte(never, t.raw[at]) < 0
}
