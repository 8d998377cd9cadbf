package openapi

import (
	"errors"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/weburl"
)

var errServer = errors.New("has no server with https: say with --server where the service is")

// server returns the host and the path of the server of an operation. own says that the operation or
// its path has a server of its own.
func (d *doc) server(op operation) (host, base string, own bool, err error) {
	text, at := d.options.Server, op.at
	switch {
	case text != "":
	case d.isSwagger():
		at = d.root.get("host").at
		text = "https://" + d.root.get("host").text() + d.root.get("basePath").text()
		if d.root.get("host").text() == "" {
			text = d.root.get("basePath").text()
		}
	default:
		for i, from := range []place{op.place, op.item, d.root} {
			if servers := from.get("servers"); servers.there() && len(servers.n.Content) > 0 {
				text, at = d.serverURL(servers), servers.at
				own = i < 2
				break
			}
		}
	}
	if text == "" || strings.HasPrefix(text, "/") {
		return "", strings.TrimSuffix(text, "/"), own, nil
	}
	parsed, err := weburl.Parse(text)
	if err != nil || parsed.RawQuery != "" {
		return "", "", own, &fault{at, errServer.Error()}
	}
	if parsed.Scheme == "https" {
		host = parsed.Host
	}
	return host, strings.TrimSuffix(parsed.EscapedPath(), "/"), own, nil
}

// serverURL returns the URL of the first server, with the defaults of its variables. It stops at a text that is too long for a URL, because
// a default can repeat other variables.
func (d *doc) serverURL(servers place) string {
	for _, s := range servers.elements() {
		text := s.get("url").text()
		for name, v := range s.get("variables").members() {
			value := v.get("default").text()
			if len(text) > weburl.MaxLength || len(value) > weburl.MaxLength {
				return ""
			}
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
		return text
	}
	return ""
}

// place says where a tool sends its request. A connection chooses the host, so with a connection the host is
// left out, unless the operation or its path has a server of its own.
func (d *doc) place(op operation, tool *httptool.Tool) error {
	host, base, own, err := d.server(op)
	if err != nil && tool.Connection == httptool.None {
		return err
	}
	if tool.Connection == httptool.None && host == "" {
		return &fault{op.at, errServer.Error()}
	}
	if tool.Connection == httptool.None || own && host != "" {
		tool.Host = host
	}
	tool.Request.Path = base + templateOf(op.path)
	return nil
}

// templateOf writes the literal parts of a path in percent-encoding.
func templateOf(path string) string {
	path, _, _ = strings.Cut(path, "#")
	var b strings.Builder
	for rest := path; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString((&url.URL{Path: before}).EscapedPath())
		if !found {
			break
		}
		name, next, _ := strings.Cut(after, "}")
		b.WriteString("{" + name + "}")
		rest = next
	}
	return b.String()
}
