package registered

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Bounds of documents that are registered. They are lower than those of files, because every worker has
// the documents of every tenant.
const (
	// MaxDocument bounds a document, in bytes.
	MaxDocument = 1 << 20
	// MaxTools bounds the tools of a document.
	MaxTools = 256
)

// Document is a document that a worker can run.
type Document struct {
	Name string
	// Digest is the SHA-256 of what the document says, without its layout.
	Digest string
	// Tools are those of a document of HTTP tools.
	Tools []toolspec.Tool
	// Server is the server of a document of the kind MCP, without its Dial.
	Server mcp.Server
}

// Patterns returns the ids of the tools, or for an MCP server the prefix of these ids and *.
func (d Document) Patterns() []string {
	if d.Server.ID != "" {
		return []string{"mcp__" + d.Server.ID + "__*"}
	}
	ids := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		ids[i] = t.Definition().ID
	}
	return ids
}

// Read reads and checks a document as a worker does before it offers its tools. file is the name of the
// document in errors. An error says every fault, with its position.
func Read(tenantID string, kind registrations.Kind, file string, text []byte) (Document, error) {
	return read(tenantID, kind, file, text, func(httptool.Tool) error { return nil })
}

// ReadNew is Read for a document that a person registers. It also refuses what only documents of earlier releases may have.
func ReadNew(tenantID string, kind registrations.Kind, file string, text []byte) (Document, error) {
	return read(tenantID, kind, file, text, checkNew)
}

func read(tenantID string, kind registrations.Kind, file string, text []byte, check func(httptool.Tool) error) (Document, error) {
	if len(text) > MaxDocument {
		return Document{}, fmt.Errorf("%s has more than %d bytes", file, MaxDocument)
	}
	switch kind {
	case registrations.HTTP:
		return readHTTP(tenantID, file, text, check)
	case registrations.MCP:
		return readMCP(tenantID, file, text)
	}
	return Document{}, fmt.Errorf("the kind of a registration is %s or %s", registrations.HTTP, registrations.MCP)
}

func readHTTP(tenantID, file string, text []byte, check func(httptool.Tool) error) (Document, error) {
	prefix := toolspec.TenantNamespace(tenantID) + "__"
	document, err := httptool.Read(file, text, func(t httptool.Tool) error {
		if !strings.HasPrefix(t.ID, prefix) {
			return fmt.Errorf("the id of a tool of this tenant begins with %s", prefix)
		}
		bound, err := t.Bind("")
		if err != nil {
			return err
		}
		_, err = catalog.Describe(string(source.Registered), bound)
		return err
	}, check)
	if err != nil {
		return Document{}, err
	}
	if n := len(document.Tools); n == 0 || n > MaxTools {
		return Document{}, fmt.Errorf("%s: a registration has 1 to %d tools, not %d", file, MaxTools, n)
	}
	if err := checkName(document.Name); err != nil {
		return Document{}, fmt.Errorf("%s: name: %w", file, err)
	}
	d := Document{Name: document.Name}
	if d.Digest, err = digest(document); err != nil {
		return Document{}, err
	}
	d.Tools, err = document.Bind()
	return d, err
}

// checkName refuses names that cannot be in a path or on a command line.
func checkName(name string) error {
	if err := (source.Info{Kind: source.Registered, Name: name}).Check(); err != nil || name == "" {
		return errors.New("must have 1 to 64 characters of a-z, A-Z, 0-9, '_' and '-'")
	}
	return nil
}

// checkNew refuses a Content-Type that no service can read the body with.
func checkNew(t httptool.Tool) error {
	if t.Request.Body == nil || t.Request.Body.MediaType == "" {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(t.Request.Body.MediaType)
	switch {
	case err != nil || !strings.Contains(mediaType, "/"):
		return errors.New("request.body.mediaType is no media type, such as application/json")
	case strings.HasPrefix(mediaType, "multipart/"):
		return fmt.Errorf("request.body.mediaType: a body of %s is not supported", mediaType)
	}
	return nil
}

func readMCP(tenantID, file string, text []byte) (Document, error) {
	prefix := toolspec.TenantNamespace(tenantID) + "_"
	servers, err := mcp.ReadServers(file, text, func(s mcp.Server) error {
		switch {
		case s.Transport != mcp.Streamable:
			return errors.New("only a server over streamable HTTP can be registered: give its url, and no command")
		case !strings.HasPrefix(s.URL, "https://"):
			return errors.New("the url of a registered server begins with https://")
		case !strings.HasPrefix(s.ID, prefix):
			return fmt.Errorf("the id of a server of this tenant begins with %s", prefix)
		case s.Connection || s.TokenFrom != "" || len(s.Scopes) > 0:
			// tokenFrom would send a secret of the worker to a host of the tenant's choice.
			return errors.New("a registered server has no connection, scopes and tokenFrom")
		}
		return nil
	})
	if err != nil {
		return Document{}, err
	}
	if len(servers) != 1 {
		return Document{}, fmt.Errorf("%s: a registration has one server, not %d", file, len(servers))
	}
	d := Document{Name: servers[0].ID, Server: servers[0]}
	d.Digest, err = digest(struct {
		ID, URL, ProtocolVersion  string
		StartTimeout, CallTimeout time.Duration
	}{d.Server.ID, d.Server.URL, d.Server.ProtocolVersion, d.Server.StartTimeout, d.Server.CallTimeout})
	return d, err
}

func digest(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
