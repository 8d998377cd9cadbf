package price

import (
	"math"
	"math/big"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Table has the prices of models on a day. The zero Table has no prices. It is safe for concurrent use.
type Table struct {
	date string
	rows []row
}

// row is the price of the models of a format.
type row struct {
	format string
	// model is the name of a model or, with prefix, the beginning of names.
	model  string
	prefix bool
	line   int
	price  price
}

// price has the prices of tokens. The unit is a millionth of a millionth of a US dollar for each token. Providers
// name prices in US dollars for each million tokens: one of these dollars is a million units.
type price struct{ input, cached, cacheWrite, output int64 }

// Date returns the day that the prices are from, such as 2026-11-01.
func (t Table) Date() string { return t.date }

// Cost returns the cost of a response in millionths of a US dollar, rounded up. format is the format of a codec, such as
// openai, and model the name in the request. An exact name in the table comes before the beginning of a name, and a
// longer beginning before a shorter one. ok is false if the table has no price of the model, or if the provider
// reported no usage: the cost is unknown then, and not 0. A cost too large for an int64 is math.MaxInt64.
func (t Table) Cost(format, model string, usage wire.Usage) (microUSD int64, ok bool) {
	p, ok := t.price(format, model)
	if !ok || !usage.Reported {
		return 0, false
	}
	sum := new(big.Int)
	for _, part := range [][2]int64{
		{usage.Input, p.input}, {usage.CacheRead, p.cached}, {usage.CacheWrite, p.cacheWrite}, {usage.Output, p.output},
	} {
		tokens := big.NewInt(max(part[0], 0))
		sum.Add(sum, tokens.Mul(tokens, big.NewInt(part[1])))
	}
	sum.Add(sum, big.NewInt(scale-1))
	if sum.Quo(sum, big.NewInt(scale)); !sum.IsInt64() {
		return math.MaxInt64, true
	}
	return sum.Int64(), true
}

// price returns the most specific price of a model.
func (t Table) price(format, model string) (price, bool) {
	var best *row
	for i := range t.rows {
		r := &t.rows[i]
		switch {
		case r.format != format:
		case !r.prefix && r.model == model:
			return r.price, true
		case r.prefix && strings.HasPrefix(model, r.model) && (best == nil || len(r.model) > len(best.model)):
			best = r
		}
	}
	if best == nil {
		return price{}, false
	}
	return best.price, true
}
