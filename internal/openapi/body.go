package openapi

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec/httptool"
)

// body maps the body of a request.
func (b *build) body() error {
	if b.d.isSwagger() {
		return b.swaggerBody()
	}
	body, err := b.d.follow(b.op.get("requestBody"))
	if err != nil {
		return &fault{b.op.at, "the body " + err.Error()}
	}
	if !body.there() {
		return nil
	}
	required := body.get("required").is()
	if b.op.method == "GET" || b.op.method == "HEAD" {
		if required {
			return &fault{body.at, "a body of " + b.op.method + " is not supported"}
		}
		b.d.note(b.op, body.at, "the body of a %s is left out", b.op.method)
		return nil
	}
	mediaType, kind, content := pickBody(body.get("content"))
	if kind == "" {
		if required {
			return &fault{body.at, "none of the media types of its body is supported: JSON, application/x-www-form-urlencoded and text are"}
		}
		b.d.note(b.op, body.at, "the body is left out: none of its media types is supported")
		return nil
	}
	return b.addBody(content.get("schema").orAny(), mediaType, kind, required, body.get("description").text(), b.fields(content, kind))
}

// pickBody returns the media type that a tool sends: JSON before a form before a text.
func pickBody(content place) (mediaType string, kind httptool.BodyType, at place) {
	for _, want := range []httptool.BodyType{httptool.BodyJSON, httptool.BodyForm, httptool.BodyText} {
		for name, m := range content.members() {
			if bodyType(name) == want {
				return name, want, m
			}
		}
	}
	return "", "", place{}
}

func bodyType(mediaType string) httptool.BodyType {
	switch lower := strings.ToLower(mediaType); {
	case isJSON(lower):
		return httptool.BodyJSON
	case strings.HasPrefix(lower, "application/x-www-form-urlencoded"):
		return httptool.BodyForm
	case strings.HasPrefix(lower, "text/"):
		return httptool.BodyText
	}
	return ""
}

// fields returns the styles of the fields of a form.
func (b *build) fields(content place, kind httptool.BodyType) (fields []httptool.Field) {
	if kind != httptool.BodyForm {
		return nil
	}
	for name, e := range content.get("encoding").members() {
		style := httptool.Style(e.get("style").text())
		if style == "" || !httptool.InQuery.Allows(style) {
			continue
		}
		f := httptool.Field{Name: name, Style: style}
		if explode := e.get("explode"); explode.there() && style == httptool.Form {
			v := explode.is()
			f.Explode = &v
		}
		fields = append(fields, f)
	}
	return fields
}

func (b *build) addBody(schema place, mediaType string, kind httptool.BodyType, required bool, description string, fields []httptool.Field) error {
	converted, err := b.in.convert(schema, 1)
	if err != nil {
		return err
	}
	if o, ok := converted.(*object); ok {
		if text := oneLine(description, 1000); text != "" {
			o.set("description", text)
		}
		if kind == httptool.BodyText {
			o.set("type", "string")
		}
	}
	out := &httptool.Body{Type: kind, Fields: fields}
	out.Arg = b.arg("body", "request_body", converted, required)
	if lower := strings.ToLower(mediaType); lower != "application/json" && lower != "application/x-www-form-urlencoded" && !strings.Contains(lower, "*") {
		out.MediaType = mediaType
	}
	b.tool.Request.Body = out
	return nil
}

// swaggerBody maps the parameters of Swagger in body and formData.
func (b *build) swaggerBody() error {
	list, err := b.listParameters()
	if err != nil {
		return err
	}
	consumes := b.op.get("consumes").texts()
	if !b.op.get("consumes").there() {
		consumes = b.d.root.get("consumes").texts()
	}
	var form []place
	for _, p := range list {
		switch p.get("in").text() {
		case "body":
			mediaType := "application/json"
			if i := slices.IndexFunc(consumes, isJSON); i >= 0 {
				mediaType = consumes[i]
			} else if len(consumes) > 0 {
				return &fault{p.at, "none of the media types of its body is supported: JSON is"}
			}
			return b.addBody(p.get("schema").orAny(), mediaType, httptool.BodyJSON, p.get("required").is(), p.get("description").text(), nil)
		case "formData":
			form = append(form, p)
		}
	}
	if len(form) == 0 {
		return nil
	}
	if len(consumes) > 0 && !slices.ContainsFunc(consumes, func(c string) bool { return bodyType(c) == httptool.BodyForm }) {
		return &fault{form[0].at, "the media type multipart/form-data is not supported"}
	}
	return b.form(form)
}

// form makes a body of the parameters in formData.
func (b *build) form(list []place) error {
	properties, names := &yaml.Node{Kind: yaml.MappingNode}, &yaml.Node{Kind: seq}
	var fields []httptool.Field
	no := false
	for _, p := range list {
		if p.get("type").text() == "file" {
			return &fault{p.at, "a file in a form is not supported"}
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.get("name").text()}
		properties.Content = append(properties.Content, name, without(p.n, "required"))
		if p.get("required").is() {
			names.Content = append(names.Content, name)
		}
		switch format := p.get("collectionFormat").text(); {
		case p.get("type").text() != "array" || format == "multi":
		case format == "ssv":
			fields = append(fields, httptool.Field{Name: name.Value, Style: httptool.SpaceDelimited, Explode: &no})
		case format == "pipes":
			fields = append(fields, httptool.Field{Name: name.Value, Style: httptool.PipeDelimited, Explode: &no})
		default:
			fields = append(fields, httptool.Field{Name: name.Value, Style: httptool.Form, Explode: &no})
		}
	}
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	schema := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("type"), text("object"), text("properties"), properties, text("required"), names}}
	return b.addBody(place{schema, list[0].at}, "application/x-www-form-urlencoded", httptool.BodyForm, len(names.Content) > 0, "", fields)
}
