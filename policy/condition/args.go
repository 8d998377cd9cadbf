package condition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// decodeArgs decodes arguments for conditions without loss. hydrate refuses numbers that a
// float64 cannot hold. Of the other numbers, a whole number that fits an int64 becomes a CEL int,
// and every other number a CEL double, because JSON does not distinguish 1 from 1.0.
func decodeArgs(raw json.RawMessage) (map[string]any, error) {
	var args map[string]any
	if err := decodePlain(raw, &args); err != nil {
		return nil, err
	}
	if args == nil {
		return nil, errors.New("not a JSON object")
	}
	for key, value := range args {
		plain, err := plainValue(value)
		if err != nil {
			return nil, err
		}
		args[key] = plain
	}
	return args, nil
}

// decodePlain decodes a JSON object. If raw has a number that a float64 may round, decodePlain keeps numbers as
// they are written. Otherwise it decodes numbers as float64, in half the time.
func decodePlain(raw json.RawMessage, into *map[string]any) error {
	if !longDigits(raw) {
		return json.Unmarshal(raw, into)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// longDigits reports whether a number may have more digits than a float64 holds.
func longDigits(raw []byte) bool {
	const most = 15
	run := 0
	for _, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			if run++; run > most {
				return true
			}
		case c != '.':
			run = 0
		}
	}
	return false
}

// plainValue replaces the numbers in a decoded value, in place.
func plainValue(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return plainNumber(string(v))
	case float64:
		return plainFloat(v), nil
	case []any:
		for i := range v {
			if v[i], err = plainValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = plainValue(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func plainNumber(literal string) (any, error) {
	if whole, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return whole, nil
	}
	number, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, err
	}
	return plainFloat(number), nil
}

func plainFloat(number float64) any {
	// 2^63 does not fit an int64.
	if number == math.Trunc(number) && number >= math.MinInt64 && number < math.MaxInt64 {
		return int64(number)
	}
	return number
}

// adapter gives conditions objects with a fixed order of keys, so that the same call always has
// the same cost and the same verdict.
type adapter struct{}

// NativeToValue returns the CEL value of a Go value.
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case map[string]any:
		return ordered{types.NewStringInterfaceMap(a, v)}
	case map[ref.Val]ref.Val:
		return ordered{types.NewRefValMap(a, v)}
	case []any:
		return types.NewDynamicList(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// ordered is a map that iterates in the order of its keys.
type ordered struct{ traits.Mapper }

// Iterator iterates over the keys, sorted by type and then as text.
func (o ordered) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := o.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int {
		return cmp.Or(cmp.Compare(a.Type().TypeName(), b.Type().TypeName()), cmp.Compare(types.Format(a), types.Format(b)))
	})
	return types.NewRefValList(adapter{}, keys).Iterator()
}
