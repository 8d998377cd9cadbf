package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// parameters maps the parameters of an operation and of its path.
func (b *build) parameters() error {
	list, err := b.listParameters()
	if err != nil {
		return err
	}
	for _, p := range list {
		switch in := p.get("in").text(); in {
		case "path", "query", "header", "cookie":
			if err := b.parameter(p, httptool.In(in)); err != nil {
				return err
			}
		case "body", "formData": // Swagger: see body
		default:
			return &fault{p.at, fmt.Sprintf("a parameter in %q is not supported", oneLine(in, 40))}
		}
	}
	return nil
}

// listParameters returns the parameters. A parameter of the operation replaces that of the path.
func (b *build) listParameters() (list []place, err error) {
	for _, from := range []place{b.op.item, b.op.place} {
		for _, p := range from.get("parameters").elements() {
			if p, err = b.d.follow(p); err != nil {
				return nil, &fault{p.at, "a parameter " + err.Error()}
			}
			same := func(other place) bool {
				return other.get("name").text() == p.get("name").text() && other.get("in").text() == p.get("in").text()
			}
			if i := slices.IndexFunc(list, same); i >= 0 {
				list[i] = p
			} else {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// ignored are the headers that OpenAPI describes elsewhere.
var ignored = []string{"accept", "content-type", "authorization"}

func (b *build) parameter(p place, in httptool.In) error {
	name, required := p.get("name").text(), p.get("required").is() || in == httptool.InPath
	if in == httptool.InHeader {
		lower := strings.ToLower(name)
		switch {
		case slices.Contains(ignored, lower):
			b.d.note(b.op, p.at, "the header %s is left out: the tool or the connection sets it", name)
			return nil
		case lower == "idempotency-key":
			b.tool.Request.IdempotencyKey, b.tool.Idempotent = name, true
			return nil
		}
	}
	if toolspec.SecretName(name) && !slices.Contains(b.d.options.Harmless, name) {
		if required {
			return &fault{p.at, fmt.Sprintf("needs the argument %q, which looks like a credential: if it is none, allow it with --harmless %s", name, name)}
		}
		b.in.dropped = append(b.in.dropped, p.at)
		return nil
	}
	out := httptool.Parameter{In: in, Name: name}
	schema, err := b.style(p, &out)
	if err != nil {
		return err
	}
	if o, ok := schema.(*object); ok {
		if text := clip(strings.TrimSpace(printable(p.get("description").text())), 1000); text != "" {
			o.set("description", text)
		}
	}
	if toolspec.SecretName(name) {
		b.in.harmless[name] = true
	}
	if arg := b.arg(name, name+"_"+string(in), schema, required); arg != name {
		out.Arg = arg
	}
	b.tool.Request.Parameters = append(b.tool.Request.Parameters, out)
	return nil
}

// style sets the style of a parameter, and returns the schema of its argument.
func (b *build) style(p place, out *httptool.Parameter) (any, error) {
	if b.d.isSwagger() {
		return b.collection(p, out)
	}
	if content := p.get("content"); content.there() {
		for mediaType, m := range content.members() {
			if !isJSON(mediaType) {
				return nil, &fault{content.at, "a parameter with this media type is not supported"}
			}
			if !out.In.Allows(httptool.JSONStyle) {
				return nil, &fault{content.at, "JSON in the path is not supported"}
			}
			out.Style = httptool.JSONStyle
			return b.in.convert(m.get("schema").orAny(), 1)
		}
	}
	out.Style = httptool.Style(p.get("style").text())
	if out.Style != "" && !out.In.Allows(out.Style) {
		return nil, &fault{p.at, fmt.Sprintf("the style %q in the %s is not supported", oneLine(string(out.Style), 40), out.In)}
	}
	out.AllowReserved = p.get("allowReserved").is() && out.In == httptool.InQuery
	schema := p.get("schema").orAny()
	if explode := p.get("explode"); explode.there() {
		v := explode.is()
		out.Explode = &v
	}
	if err := b.fixExplode(p, schema, out); err != nil {
		return nil, err
	}
	return b.in.convert(schema, 1)
}

// fixExplode refuses combinations of style and explode that OpenAPI leaves without a meaning.
func (b *build) fixExplode(p, schema place, out *httptool.Parameter) error {
	yes, no := true, false
	target, _ := b.d.follow(schema)
	compound := slices.Contains([]string{"array", "object"}, target.get("type").text())
	switch {
	case out.In == httptool.InCookie:
		if compound && (out.Explode == nil || *out.Explode) {
			return &fault{p.at, "a list or an object in a cookie with explode is not supported"}
		}
		out.Explode = nil
	case out.Style == httptool.DeepObject:
		out.Explode = &yes
	case out.Style == httptool.SpaceDelimited, out.Style == httptool.PipeDelimited:
		if out.Explode != nil && *out.Explode && compound { // OpenAPI 3.0: the same as form
			out.Style = httptool.Form
			return nil
		}
		out.Explode = &no
	}
	return nil
}

// collection maps a parameter of Swagger: its own keys are its schema.
func (b *build) collection(p place, out *httptool.Parameter) (any, error) {
	yes, no := true, false
	switch format := p.get("collectionFormat").text(); format {
	case "", "csv":
		if out.In == httptool.InQuery && p.get("type").text() == "array" {
			out.Explode = &no
		}
	case "multi":
		out.Explode = &yes
	case "ssv", "pipes":
		if out.In != httptool.InQuery {
			return nil, &fault{p.at, "the collectionFormat is not supported in this place"}
		}
		out.Style, out.Explode = httptool.SpaceDelimited, &no
		if format == "pipes" {
			out.Style = httptool.PipeDelimited
		}
	default:
		return nil, &fault{p.at, fmt.Sprintf("the collectionFormat %q is not supported", oneLine(format, 40))}
	}
	return b.in.convert(place{without(without(p.n, "required"), "description"), p.at}, 1)
}

// orAny returns a schema, or the schema of any value.
func (p place) orAny() place {
	if p.there() {
		return p
	}
	return place{n: emptyMap, at: p.at}
}

func isJSON(mediaType string) bool {
	mediaType, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
	mediaType = strings.TrimSpace(mediaType)
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json") || mediaType == "*/*" || mediaType == "application/*"
}
