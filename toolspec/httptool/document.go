package httptool

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of documents.
const (
	// MaxDocument bounds a document, in bytes.
	MaxDocument = 32 << 20
	// MaxTools bounds the tools of a document.
	MaxTools = 4096
	// maxEntries bounds the lists of a document that have no smaller bound, such as the fields of a body.
	maxEntries = 4096
	// MaxParameters bounds the parameters of a request.
	MaxParameters = 128
	// DefaultBody bounds the body of a response, in bytes, if the document says nothing else.
	DefaultBody = 1 << 20
	// MaxBody bounds the body of every response, in bytes.
	MaxBody = toolspec.MaxResult
	// MaxName bounds the names of documents, arguments and parameters, in characters.
	MaxName = 200
	// maxText bounds titles, descriptions and messages, in bytes.
	maxText = 16 << 10
)

// Document is a file with tools.
type Document struct {
	// Format is the version of the format. It is 1.
	Format int `json:"format"`
	// Name says where the tools come from, such as github. It is published as providedBy.
	Name  string `json:"name"`
	Tools []Tool `json:"tools"`
}

// Tool is the description of one tool.
type Tool struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Effect      toolspec.Effect `json:"effect"`
	Risk        toolspec.Risk   `json:"risk"`
	// Idempotent declares that two requests with the same idempotency key, or two equal requests, have
	// the effect of one.
	Idempotent bool `json:"idempotent,omitempty"`
	// Connection says whether a call needs a connection. If it does, the connection chooses the host
	// and adds the credential. Otherwise Host is required.
	Connection Connection `json:"connection"`
	// Host is host or host:port. With a connection it selects one of several hosts of the connection.
	Host   string   `json:"host,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// TimeoutSeconds is the budget of one attempt; 0 means toolspec.DefaultTimeout.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// MaxArgsBytes and MaxResultBytes are the bounds of the same names in toolspec.Definition.
	MaxArgsBytes   int             `json:"maxArgsBytes,omitempty"`
	MaxResultBytes int             `json:"maxResultBytes,omitempty"`
	Tags           []string        `json:"tags,omitempty"`
	HarmlessNames  []string        `json:"harmlessNames,omitempty"`
	Redaction      Redaction       `json:"redaction"`
	Input          json.RawMessage `json:"input"`
	Request        Request         `json:"request"`
	Response       Response        `json:"response"`
}

// Connection says whether a tool uses a connection.
type Connection string

// The values of Connection.
const (
	Required Connection = "required"
	None     Connection = "none"
)

// Redaction says what of the value and of the arguments may be shown: see toolspec.Redaction.
type Redaction struct {
	Allow     []string `json:"allow"`
	MaskInput []string `json:"maskInput,omitempty"`
}

// Request describes a request.
type Request struct {
	Method string `json:"method"`
	// Path is absolute. {name} stands for the argument of the parameter of this name with in: path.
	Path       string      `json:"path"`
	Parameters []Parameter `json:"parameters,omitempty"`
	Body       *Body       `json:"body,omitempty"`
	// IdempotencyKey is the header that gets the idempotency key of the call.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// In is the place of a parameter.
type In string

// The places.
const (
	InPath   In = "path"
	InQuery  In = "query"
	InHeader In = "header"
	InCookie In = "cookie"
)

// Style says how a value becomes text, as in OpenAPI.
type Style string

// The styles. JSON is the JSON of the value, which OpenAPI writes as content: application/json.
const (
	Simple         Style = "simple"
	Label          Style = "label"
	Matrix         Style = "matrix"
	Form           Style = "form"
	SpaceDelimited Style = "spaceDelimited"
	PipeDelimited  Style = "pipeDelimited"
	DeepObject     Style = "deepObject"
	JSONStyle      Style = "json"
)

// Parameter is one parameter of a request: an argument, or a constant.
type Parameter struct {
	In   In     `json:"in"`
	Name string `json:"name"`
	// Arg names the argument. It is Name if it is empty.
	Arg string `json:"arg,omitempty"`
	// Value is a constant, in place of an argument.
	Value *string `json:"value,omitempty"`
	Style Style   `json:"style,omitempty"`
	// Explode is true for the style form if it is absent, and otherwise false, as in OpenAPI. In a
	// cookie it is false.
	Explode *bool `json:"explode,omitempty"`
	// AllowReserved leaves the characters :/?@!$'()*, of a query as they are.
	AllowReserved bool `json:"allowReserved,omitempty"`
	// EncodedSlash sends / of a path argument as %2F. Without it the argument is refused.
	EncodedSlash bool `json:"encodedSlash,omitempty"`
}

// BodyType is the form of a body.
type BodyType string

// The forms of a body.
const (
	BodyJSON BodyType = "json"
	BodyForm BodyType = "form" // application/x-www-form-urlencoded
	BodyText BodyType = "text"
)

// Body says which argument is the body.
type Body struct {
	Arg  string   `json:"arg"`
	Type BodyType `json:"type"`
	// MediaType is the Content-Type. If it is empty, the type of the body decides.
	MediaType string `json:"mediaType,omitempty"`
	// Fields are the styles of the fields of a form. The default of a field is style form, exploded.
	Fields []Field `json:"fields,omitempty"`
}

// Field is the style of one field of a form.
type Field struct {
	Name    string `json:"name"`
	Style   Style  `json:"style"`
	Explode *bool  `json:"explode,omitempty"`
}

// ResponseType is the kind of the value of a tool.
type ResponseType string

// The kinds of values.
const (
	ResponseJSON ResponseType = "json"
	ResponseText ResponseType = "text"
	// ResponseBytes is a value of one part: an image, audio or document.
	ResponseBytes ResponseType = "bytes"
)

// Response says what of a response is the value.
type Response struct {
	Type ResponseType `json:"type"`
	// Results are the statuses whose response is a result, such as 200 or 2XX. The default is 2XX.
	Results []string `json:"results,omitempty"`
	// Pointer is a JSON pointer to the part of the JSON that is the value.
	Pointer string `json:"pointer,omitempty"`
	// Empty says that a response without a body is a result too. Its value is null, or an empty text.
	Empty bool `json:"empty,omitempty"`
	// MaxBytes bounds the body; 0 means DefaultBody.
	MaxBytes int `json:"maxBytes,omitempty"`
	// Schema is the JSON Schema of the value, for the type json. Without it, any value is valid.
	Schema json.RawMessage `json:"schema,omitempty"`
	Errors []Failure       `json:"errors,omitempty"`
}

// FailureKind says what a status means.
type FailureKind string

// The kinds of failures.
const (
	// Final ends the call with the code execution.
	Final FailureKind = "final"
	// Busy says that nothing happened: Pawl makes another attempt later, for every effect.
	Busy FailureKind = "busy"
	// Transient is an error after which a tool that may be repeated gets another attempt.
	Transient FailureKind = "transient"
)

// Failure says what a status that is no result means.
type Failure struct {
	// Status is 404 or 4XX. The first entry that matches counts.
	Status string      `json:"status"`
	Is     FailureKind `json:"is"`
	// Message is for the model and for people. It is empty for the usual message.
	Message string `json:"message,omitempty"`
}
