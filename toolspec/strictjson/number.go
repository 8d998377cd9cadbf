package strictjson

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
	return ParseDecimal(literal) == ParseDecimal(strconv.FormatFloat(f, 'e', -1, 64))
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
	return f != 0 || ParseDecimal(literal).Digits == ""
}

// Decimal is a number in one normal form: 0.DIGITS × 10^exp with no zeros at
// either end of DIGITS. Zero has no digits, no sign and no exponent.
type Decimal struct {
	Negative bool
	Digits   string
	Exp      int
}

// ParseDecimal normalises a JSON number literal of at most maxLiteralBytes.
func ParseDecimal(literal string) Decimal {
	var d Decimal
	mantissa := literal
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		// Atoi fails only if the exponent is out of range. Callers have checked that a float64 holds the
		// literal, so it is a zero then.
		d.Exp, _ = strconv.Atoi(strings.TrimPrefix(literal[i+1:], "+"))
	}
	mantissa, d.Negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.Exp += len(whole)
	all := whole + fraction
	d.Digits = strings.TrimLeft(all, "0")
	d.Exp -= len(all) - len(d.Digits)
	d.Digits = strings.TrimRight(d.Digits, "0")
	if d.Digits == "" {
		return Decimal{}
	}
	return d
}

// IsInteger reports whether the decimal is a whole number.
func (d Decimal) IsInteger() bool { return len(d.Digits) <= d.Exp || d.Digits == "" }
