package mcp

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadServers(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"yaml": `
mcpServers:
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", ""]
    env: {TOKEN: "s3cret"}
    inherit: [LANG]
    cwd: /srv
    callTimeout: 2m
  docs:
    url: https://mcp.example.com/mcp
    protocolVersion: "2025-06-18"
  old:
    transport: sse
    url: http://localhost:3000/sse
    startTimeout: 10s
`,
		"json of other clients": `{"mcpServers":{
  "files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem",""],"env":{"TOKEN":"s3cret"},"inherit":["LANG"],"cwd":"/srv","callTimeout":"2m"},
  "docs":{"type":"http","url":"https://mcp.example.com/mcp","protocolVersion":"2025-06-18"},
  "old":{"type":"sse","url":"http://localhost:3000/sse","startTimeout":"10s"}
}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadServers("servers.yaml", []byte(doc))
			want := []Server{
				{ID: "files", Transport: Stdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", ""}, Env: map[string]string{"TOKEN": "s3cret"}, Inherit: []string{"LANG"}, Dir: "/srv", CallTimeout: 2 * time.Minute},
				{ID: "docs", Transport: Streamable, URL: "https://mcp.example.com/mcp", ProtocolVersion: "2025-06-18"},
				{ID: "old", Transport: SSE, URL: "http://localhost:3000/sse", StartTimeout: 10 * time.Second},
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v\nwant %+v\n%v", got, want, err)
			}
		})
	}
}

func TestReadServersRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, want string }{
		{`{comand: x}`, "servers.yaml:1:19: mcpServers.s.comand: is not known here; did you mean command?"},
		{`{}`, "command is missing"},
		{`{type: http}`, "url is missing"},
		{`{type: grpc, url: "https://a"}`, "must be stdio, streamable"},
		{`{command: x, url: "https://a"}`, "either a command or a url"},
		{`{url: "https://a", env: {A: b}}`, "has no command, args, env"},
		{`{url: "http://example.com/mcp"}`, "must begin with https://"},
		{`{url: "https://user:password@example.com"}`, "may not hold a user name"},
		{`{url: "/mcp"}`, "absolute URL"},
		{`{url: "https://a/#x"}`, "fragment"},
		{`{url: "https://a", headers: {Authorization: s3cret}}`, "is not accepted"},
		{`{command: x, env: {"A=B": s3cret}}`, "may hold only letters"},
		{`{command: x, env: {"": s3cret}}`, "the name of a variable is empty"},
		{`{command: x, inherit: [` + strings.Repeat("A", 201) + `]}`, "at most 200 bytes"},
		{`{command: x, env: {A: s3cret}, inherit: [A]}`, "both in env and in inherit"},
		{`{command: x, env: {A: 5}}`, "quote what looks like something else"},
		{`{command: x, callTimeout: 5}`, "quote what looks like something else"},
		{`{command: x, callTimeout: -5s}`, "must be a duration"},
		{`{command: x, callTimeout: 25h}`, "callTimeout must be at most"},
		{`{command: x, startTimeout: 1h}`, "startTimeout must be at most"},
		{`{command: x, protocolVersion: "2020-01-01"}`, "must be 2026-07-28"},
		{`{command: x, type: stdio, transport: stdio}`, "leave one out"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			servers, err := ReadServers("servers.yaml", []byte(`{mcpServers: {s: `+c.server+`}}`))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%+v, %v", servers, err)
			}
		})
	}
	for _, c := range []struct{ doc, want string }{
		{``, "empty"}, {`{}`, "mcpServers: is missing"}, {`{mcpServers: {a__b: {command: x}}}`, "the id of a server may not hold '__'"},
		{`{mcpServers: {a: {command: x}, a: {command: y}}}`, "twice"},
	} {
		if _, err := ReadServers("servers.yaml", []byte(c.doc)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.doc, err)
		}
	}
}
