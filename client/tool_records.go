package client

import (
	"errors"
	"time"
)

// ToolKind says what a registered document is.
type ToolKind string

// The kinds of registered documents.
const (
	// HTTPTools is a document of package toolspec/httptool. Its name names the registration.
	HTTPTools ToolKind = "http"
	// MCPServer is a file of MCP servers with one server over streamable HTTP. The id of the server names the
	// registration.
	MCPServer ToolKind = "mcp"
)

// ToolRegistration is a document to register for a tenant.
type ToolRegistration struct {
	TenantID string
	Kind     ToolKind
	// File is the name of the document in errors.
	File     string
	Document []byte
	// By is the identity of the person or program, for the audit trail.
	By string
}

// ToolsRegistered says what a registration has done.
type ToolsRegistered struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Tools are tool ids, or for an MCP server the prefix of its tool ids and *.
	Tools []string `json:"tools"`
	// Changed is false if the version in force says the same already.
	Changed bool `json:"changed"`
}

// ToolVersion is a version of a registration.
type ToolVersion struct {
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Kind    ToolKind `json:"kind"`
	// Digest is the SHA-256 of what the document says, without its layout.
	Digest string   `json:"digest"`
	Tools  []string `json:"tools"`
	// RegisteredBy and EndedBy are the persons who registered the version, and who replaced or removed it.
	RegisteredBy string    `json:"registeredBy"`
	RegisteredAt time.Time `json:"registeredAt"`
	EndedBy      string    `json:"endedBy,omitempty"`
	// EndedAt is nil if the version is in force.
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

var (
	// ErrToolsInvalid is wrapped by errors about a document to register and its parameters. Their text is for
	// the person who registers.
	ErrToolsInvalid = errors.New("the document of tools is not valid")
	// ErrToolsRefused is wrapped by errors about a valid document that cannot be registered beside the other
	// registrations of the tenant, for example because one of these has a tool with the same id.
	ErrToolsRefused = errors.New("the tools cannot be registered")
)
