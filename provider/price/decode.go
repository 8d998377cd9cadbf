package price

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
)

const (
	// scale is the number of units of a price in a millionth of a US dollar.
	scale = 1_000_000
	// maxRows bounds the prices of a table.
	maxRows = 1000
	// maxModel bounds the name of a model, in characters: the bound of package provider, and the * at the end.
	maxModel = 201
)

// formats are the formats of toolspec/wire.
var formats = []string{"openai", "responses", "anthropic", "gemini", "ollama"}

// number is a price: US dollars with at most 6 digits behind the point.
var number = regexp.MustCompile(`^(0|[1-9][0-9]{0,4})(\.([0-9]{1,6}))?$`)

// Parse reads a table, YAML or JSON, of at most strictyaml.MaxDocument bytes. The error is a strictyaml.Errors with
// the position of each fault; file is the name of the document in it.
func Parse(file string, doc []byte) (Table, error) {
	r := &reader{Reader: strictyaml.NewReader(file)}
	if root := r.Load(doc); root != nil {
		r.Mapping(root, "",
			strictyaml.Field{Name: "date", Read: r.date, Required: "is missing: write the day that the prices are from, such as 2026-11-01"},
			strictyaml.Field{Name: "prices", Read: r.prices, Required: "is missing"},
		)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return Table{}, faults.Sorted()
	}
	return r.table, nil
}

type reader struct {
	*strictyaml.Reader
	table Table
}

func (r *reader) date(n *yaml.Node, path string) {
	if !r.Plain(n, path) {
		return
	}
	if _, err := time.Parse(time.DateOnly, n.Value); n.Kind != yaml.ScalarNode || err != nil {
		r.Fail(n, path, "must be a day such as 2026-11-01")
		return
	}
	r.table.date = n.Value
}

func (r *reader) prices(n *yaml.Node, path string) {
	r.NotEmpty(n, path, "write a price, or leave the file out")
	r.List(n, path, maxRows, func(n *yaml.Node, path string) {
		var next row
		next.line = n.Line
		amount := func(name string, into *int64) strictyaml.Field {
			return strictyaml.Field{
				Name: name, Read: func(n *yaml.Node, path string) { *into = r.amount(n, path) },
				Required: "is missing: write US dollars for each million tokens, or 0",
			}
		}
		before := len(r.Faults())
		r.Mapping(n, path,
			strictyaml.Field{
				Name: "format", Read: func(n *yaml.Node, path string) { next.format = strictyaml.OneOf(r.Reader, n, path, formats...) },
				Required: "is missing: write one of " + strings.Join(formats, ", "),
			},
			strictyaml.Field{
				Name: "model", Read: func(n *yaml.Node, path string) { next.model, next.prefix = r.model(n, path) },
				Required: "is missing: write the name of a model, or its beginning and *",
			},
			amount("input", &next.price.input), amount("cached", &next.price.cached),
			amount("cacheWrite", &next.price.cacheWrite), amount("output", &next.price.output),
		)
		if len(r.Faults()) > before {
			return
		}
		for _, other := range r.table.rows {
			if other.format == next.format && other.model == next.model && other.prefix == next.prefix {
				r.Fail(n, path, "is about the same models as line %d", other.line)
			}
		}
		r.table.rows = append(r.table.rows, next)
	})
}

// model reads the name of a model. A * may only be its last character.
func (r *reader) model(n *yaml.Node, path string) (name string, prefix bool) {
	name, ok := r.Text(n, path, maxModel)
	if !ok {
		return "", false
	}
	name, prefix = strings.CutSuffix(name, "*")
	if strings.Contains(name, "*") || strings.ContainsAny(name, " \t") {
		r.Fail(n, path, "must be the name of a model, or its beginning and *")
	}
	return name, prefix
}

// amount reads US dollars for each million tokens. A binary fraction would not be exact, so it reads the text.
func (r *reader) amount(n *yaml.Node, path string) int64 {
	if !r.Plain(n, path) {
		return 0
	}
	parts := number.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" || parts == nil {
		r.Fail(n, path, "must be US dollars for each million tokens: a number such as 3 or 0.25, less than 100000, with at most 6 digits behind the point")
		return 0
	}
	micro, err := strconv.ParseInt(parts[1]+(parts[3] + "000000")[:6], 10, 64)
	if err != nil {
		panic(err) // the pattern bounds it
	}
	return micro
}
