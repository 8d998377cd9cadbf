package openapi

import (
	"errors"
	"strings"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// readSchemes puts the security schemes into the report.
func (d *doc) readSchemes() {
	at := d.root.get("components").get("securitySchemes")
	if d.isSwagger() {
		at = d.root.get("securityDefinitions")
	}
	for name, p := range at.members() {
		s := Scheme{Name: name}
		p, err := d.follow(p)
		if err != nil {
			s.Reason = err.Error()
			d.report.Schemes = append(d.report.Schemes, s)
			continue
		}
		switch kind, scheme := p.get("type").text(), strings.ToLower(p.get("scheme").text()); {
		case kind == "basic", kind == "http" && scheme == "basic":
			s.Kind = string(broker.Basic)
		case kind == "http" && scheme == "bearer":
			s.Kind = string(broker.Bearer)
		case kind == "oauth2", kind == "openIdConnect":
			s.Kind = string(broker.OAuth)
		case kind == "apiKey" && p.get("in").text() == "header":
			s.Kind, s.Header = string(broker.APIKey), p.get("name").text()
		case kind == "apiKey" && p.get("in").text() == "query":
			s.Kind, s.Query = string(broker.APIKey), p.get("name").text()
		default:
			s.Reason = "no kind of connection sends this credential"
		}
		d.report.Schemes = append(d.report.Schemes, s)
	}
}

// scheme returns the scheme with a name, or a scheme without a kind if the document has none.
func (d *doc) scheme(name string) Scheme {
	for _, s := range d.report.Schemes {
		if s.Name == name {
			return s
		}
	}
	return Scheme{Name: name}
}

var errSecurity = errors.New("needs a credential that no kind of connection sends, or more than one")

// connection returns whether an operation uses a connection, and the scopes that it needs. Of
// several alternatives, it takes the first that a connection can have.
func (d *doc) connection(op operation) (httptool.Connection, []string, error) {
	if d.options.Connection == httptool.None {
		return httptool.None, nil, nil
	}
	security := op.get("security")
	if !security.there() {
		security = d.root.get("security")
	}
	asked, anonymous := false, false
	for _, alternative := range security.elements() {
		var names []string
		var scopes []string
		for name, list := range alternative.members() {
			names, scopes = append(names, name), list.texts()
		}
		switch asked = true; {
		case len(names) == 0:
			anonymous = true
		case len(names) == 1 && d.scheme(names[0]).Kind != "":
			if d.scheme(names[0]).Kind != string(broker.OAuth) || len(scopes) > 64 {
				scopes = nil
			}
			return httptool.Required, scopes, nil
		}
	}
	switch {
	case d.options.Connection == httptool.Required:
		return httptool.Required, nil, nil
	case asked && !anonymous:
		return "", nil, &fault{security.at, errSecurity.Error()}
	}
	return httptool.None, nil, nil
}
