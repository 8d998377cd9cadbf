package remotetool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of documents and messages.
const (
	// MaxDocument bounds a document, in bytes.
	MaxDocument = 8 << 20
	// MaxTools bounds the tools of a document.
	MaxTools = 4096
	// MaxWorkers bounds the workers of a document.
	MaxWorkers = 256
	// MaxAnswer bounds the body of an answer, in bytes.
	MaxAnswer = toolspec.MaxResult + 64<<10
	// MaxMessage bounds the message of an answer, in bytes.
	MaxMessage = 2000
	// maxName bounds the names of documents, workers and keys, in characters.
	maxName = 64
	// maxText bounds descriptions, in bytes.
	maxText = 16 << 10
)

// Document is a file with remote workers and their tools.
type Document struct {
	// Format is the version of the format. It is 1.
	Format  int
	Workers []Worker
	Tools   []Tool
}

// Worker is a process that runs tools.
type Worker struct {
	// Name is published as providedBy of its tools.
	Name string
	// URL is the address of the process. The scheme http is allowed for loopback addresses only.
	URL string
	// Key is the id of the key that signs requests and answers.
	Key string
}

// ResultKind is the kind of the value of a tool.
type ResultKind string

// The kinds of values.
const (
	JSONResult  ResultKind = "json"
	TextResult  ResultKind = "text"
	PartsResult ResultKind = "parts"
)

// Tool is the contract of one tool. The fields without a comment are those of toolspec.Definition.
type Tool struct {
	ID          string
	Worker      string // the name of its worker
	Title       string
	Description string
	Version     string
	Effect      toolspec.Effect
	Risk        toolspec.Risk
	Idempotent  bool
	Probe       bool // the worker answers the operation probe
	Fences      bool
	// Connection says that a call needs a connection. The worker gets a lease for its credential.
	Connection     bool
	Scopes         []string
	TimeoutSeconds int
	MaxArgsBytes   int
	MaxResultBytes int
	Tags           []string
	HarmlessNames  []string
	Redaction      Redaction
	Result         ResultKind
	Input          json.RawMessage
	// Output is the JSON Schema of the value, with the result json.
	Output json.RawMessage
}

// Redaction says what of the value and of the arguments may be shown: see toolspec.Redaction.
type Redaction struct {
	Allow, MaskInput []string
}

// nameRule is the rule of names of workers and ids of keys.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Check returns the first rule that the worker breaks.
func (w Worker) Check() error {
	if !nameRule.MatchString(w.Name) {
		return fmt.Errorf("name may have 1 to %d characters of A-Z a-z 0-9 _ . -", maxName)
	}
	if !nameRule.MatchString(w.Key) {
		return fmt.Errorf("key must be the id of a key, of 1 to %d characters of A-Z a-z 0-9 _ . -", maxName)
	}
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("url must be an address such as https://tools.example.com/pawl")
	case u.User != nil:
		return errors.New("url may have no user and no password: the key authenticates the requests")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("url may have no query and no fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return errors.New("url must use https: http goes with localhost and loopback addresses only")
	}
	return nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Check returns the first rule that the tool breaks. The rules of definitions and schemas are checked when
// the tool is registered.
func (t Tool) Check() error {
	switch {
	case t.Result == JSONResult && len(t.Output) == 0:
		return errors.New("output is missing: the JSON Schema of the value")
	case t.Result != JSONResult && len(t.Output) > 0:
		return errors.New("output goes with result: json only")
	case len(t.Scopes) > 0 && !t.Connection:
		return errors.New("scopes go with connection: required only")
	case t.Fences && !t.Probe:
		return errors.New("fences goes with probe: true only")
	case t.Probe && t.Effect == toolspec.ReadOnly:
		return errors.New("probe goes with tools that have an effect only")
	case strings.TrimSpace(t.Description) == "":
		return errors.New("description is empty")
	}
	return nil
}
