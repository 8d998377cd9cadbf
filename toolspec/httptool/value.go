package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// value is a JSON value whose members are in the order of the text.
type value struct {
	kind valueKind
	// text is the content of a string, or true, false or a number as written.
	text string
	// quoted says that the scalar is a text.
	quoted  bool
	members []member
}

// member is a member of an object, or an element of an array, which has no name.
type member struct {
	name string
	value
}

type valueKind int

const (
	isNull valueKind = iota
	isScalar
	isArray
	isObject
)

var errJSON = errors.New("not JSON")

// readValue reads one JSON value.
func readValue(raw json.RawMessage) (value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := nextValue(dec)
	if err != nil {
		return value{}, errJSON
	}
	return v, nil
}

func nextValue(dec *json.Decoder) (v value, err error) {
	token, err := dec.Token()
	if err != nil {
		return v, err
	}
	switch t := token.(type) {
	case nil:
		return value{}, nil
	case string:
		return value{kind: isScalar, text: t, quoted: true}, nil
	case json.Number:
		return value{kind: isScalar, text: t.String()}, nil
	case bool:
		if t {
			return value{kind: isScalar, text: "true"}, nil
		}
		return value{kind: isScalar, text: "false"}, nil
	case json.Delim:
		v.kind = isArray
		if t == '{' {
			v.kind = isObject
		}
	}
	for dec.More() {
		var m member
		if v.kind == isObject {
			name, err := dec.Token()
			if err != nil {
				return v, err
			}
			m.name, _ = name.(string)
		}
		if m.value, err = nextValue(dec); err != nil {
			return v, err
		}
		v.members = append(v.members, m)
	}
	_, err = dec.Token()
	return v, err
}

// defined returns the members that are not null.
func (v value) defined() []member {
	return slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return m.kind == isNull })
}

// isNothing reports whether the value is null, or an array or object without members that are not null.
func (v value) isNothing() bool {
	return v.kind == isNull || v.kind != isScalar && len(v.defined()) == 0
}
