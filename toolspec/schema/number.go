package schema

import (
	"strconv"
	"strings"
)

// maxLiteralBytes bounds a number as written. The longest decimal that a
// float64 holds exactly has 767 significant digits behind 308 zeros.
const maxLiteralBytes = 1100

// ExactNumber reports whether the JSON number literal keeps its value in the
// canonical form, that is whether the RFC 8785 text of its float64 denotes the
// same decimal. 0.1, 1.10, 1e3 and -0 do; 9007199254740993, 1e400 and 1e-400
// do not, and share a digest with another number.
func ExactNumber(literal string) bool {
	if PlainInteger([]byte(literal)) {
		return true
	}
	if !finiteNumber(literal) {
		return false
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return false
	}
	// The shortest digits that read back as f are those of ECMAScript's
	// Number::toString, which RFC 8785 prescribes; only the layout differs.
	return parseDecimal(literal) == parseDecimal(strconv.FormatFloat(f, 'e', -1, 64))
}

// PlainInteger reports whether the literal is an integer of at most 15 digits
// without fraction and exponent: an int64 and a float64 hold it exactly. -0 is
// one.
func PlainInteger(literal []byte) bool {
	digits := literal
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 15 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func smallInt(literal []byte) int64 {
	var v int64
	negative := literal[0] == '-'
	if negative {
		literal = literal[1:]
	}
	for _, c := range literal {
		v = v*10 + int64(c-'0')
	}
	if negative {
		return -v
	}
	return v
}

// finiteNumber reports whether a float64 holds the literal at all: no overflow,
// no underflow to zero, no literal of absurd length. It also bounds the work of
// exact arithmetic behind it, which 1e999999 would not.
func finiteNumber(literal string) bool {
	if len(literal) > maxLiteralBytes {
		return false
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return false // out of range
	}
	return f != 0 || parseDecimal(literal).digits == ""
}

// decimal is a number in one normal form: 0.DIGITS × 10^exp with no zeros at
// either end of DIGITS. Zero has no digits, no sign and no exponent.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// parseDecimal normalises a JSON number literal of at most maxLiteralBytes.
func parseDecimal(literal string) decimal {
	var d decimal
	mantissa := literal
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		// Out of range only for zeros: callers have seen a finite float64.
		d.exp, _ = strconv.Atoi(strings.TrimPrefix(literal[i+1:], "+"))
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exp += len(whole)
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	d.exp -= len(all) - len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// integral reports whether the decimal is a whole number.
func (d decimal) integral() bool { return len(d.digits) <= d.exp || d.digits == "" }
