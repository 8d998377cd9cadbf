package httptool

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

var errNested = errors.New("holds a list or an object where its style has no form for it")

// escaper percent-encodes the text of a value.
type escaper func(string) string

const upperHex = "0123456789ABCDEF"

// escape percent-encodes every byte except unreserved characters (RFC 3986) and those in also.
func escape(text, also string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, strings.IndexByte(also, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func strict(text string) string { return escape(text, "") }

// reserved is escape for allowReserved. It leaves the reserved characters of RFC 6570 as they are,
// except characters that end a parameter or the query.
func reserved(text string) string { return escape(text, ":/?@!$'()*,") }

// plain leaves a text as it is, for headers.
func plain(text string) string { return text }

// words returns the texts of a value: a scalar is one text, an array gives all its elements, and an
// object its names and values in turn. If pairs is true, an object gives texts name=value.
func words(v value, pairs bool, esc escaper) ([]string, error) {
	if v.kind == isScalar {
		return []string{esc(v.text)}, nil
	}
	var out []string
	for _, m := range v.defined() {
		switch {
		case m.kind != isScalar:
			return nil, errNested
		case v.kind == isArray:
			out = append(out, esc(m.text))
		case pairs:
			out = append(out, esc(m.name)+"="+esc(m.text))
		default:
			out = append(out, esc(m.name), esc(m.text))
		}
	}
	return out, nil
}

// segmentOf writes a value in a path or header: the styles simple, label and matrix.
func segmentOf(style Style, explode bool, name string, v value, esc escaper) (string, error) {
	list, err := words(v, explode, esc)
	if err != nil {
		return "", err
	}
	switch style {
	case Label:
		if explode {
			return "." + strings.Join(list, "."), nil
		}
		return "." + strings.Join(list, ","), nil
	case Matrix:
		if explode && v.kind == isObject {
			return ";" + strings.Join(list, ";"), nil
		}
		if !explode {
			list = []string{strings.Join(list, ",")}
		}
		var b strings.Builder
		for _, word := range list {
			b.WriteString(";" + esc(name))
			if word != "" {
				b.WriteString("=" + word)
			}
		}
		return b.String(), nil
	default:
		return strings.Join(list, ","), nil
	}
}

// pairsOf writes a value as name=value texts of a query, a form or a cookie.
func pairsOf(style Style, explode bool, name string, v value, esc escaper) ([]string, error) {
	if style == DeepObject { // OpenAPI gives it a meaning for objects only; services take lists so too
		return deep(strict(name), v, esc), nil
	}
	list, err := words(v, explode, esc)
	if err != nil {
		return nil, err
	}
	if explode && v.kind == isObject {
		return list, nil
	}
	separator := ","
	switch style {
	case SpaceDelimited:
		separator = "%20"
	case PipeDelimited:
		separator = "%7C"
	default:
	}
	if !explode {
		list = []string{strings.Join(list, separator)}
	}
	for i := range list {
		list[i] = strict(name) + "=" + list[i]
	}
	return list, nil
}

// deep writes name[member]=value for every scalar in a value. The elements of an array have their
// index as name.
func deep(prefix string, v value, esc escaper) []string {
	if v.kind == isScalar {
		return []string{prefix + "=" + esc(v.text)}
	}
	var out []string
	for i, m := range v.defined() {
		name := m.name
		if v.kind == isArray {
			name = strconv.Itoa(i)
		}
		out = append(out, deep(prefix+"%5B"+strict(name)+"%5D", m.value, esc)...)
	}
	return out
}

// styles returns the styles of a place; the first is the default.
func (in In) styles() []Style {
	switch in {
	case InPath:
		return []Style{Simple, Label, Matrix}
	case InQuery:
		return []Style{Form, SpaceDelimited, PipeDelimited, DeepObject, JSONStyle}
	case InHeader:
		return []Style{Simple, JSONStyle}
	case InCookie:
		return []Style{Form, JSONStyle}
	}
	return nil
}

// Allows reports whether a parameter in this place may have the style.
func (in In) Allows(s Style) bool { return slices.Contains(in.styles(), s) }

func (p Parameter) style() Style {
	if p.Style == "" {
		return p.In.styles()[0]
	}
	return p.Style
}

func (p Parameter) explode() bool {
	if p.Explode != nil {
		return *p.Explode
	}
	return p.In == InQuery && p.style() == Form || p.style() == DeepObject
}

func (p Parameter) arg() string {
	if p.Arg == "" {
		return p.Name
	}
	return p.Arg
}
