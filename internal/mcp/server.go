package mcp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Transport is how a worker talks to a server.
type Transport string

// The transports of MCP.
const (
	// Stdio starts the server as a process of the worker's machine.
	Stdio Transport = "stdio"
	// Streamable is the HTTP transport of the revisions since 2025-03-26.
	Streamable Transport = "streamable"
	// SSE is the HTTP transport of the revision 2024-11-05.
	SSE Transport = "sse"
)

// Defaults and bounds of a Server.
const (
	defaultStartTimeout = 30 * time.Second
	maxStartTimeout     = 10 * time.Minute
	defaultCallTimeout  = time.Minute
	// maxVariable bounds the name of a variable, in bytes.
	maxVariable = 200
	// MaxServers bounds the servers of a worker.
	MaxServers = 100
)

// Server is the configuration of a server. It has no method that prints the values of Env.
type Server struct {
	// ID is in the ids of the tools: mcp__<id>__<tool>.
	ID        string
	Transport Transport
	// Command is the program of a stdio server, and Args are its arguments. A name without a slash is
	// looked up in the PATH of the worker.
	Command string
	Args    []string
	// Env are variables of a stdio server, with their values, which may be secrets. Inherit are names of
	// variables that it gets from the worker. It gets PATH and HOME in any case, and no others.
	Env     map[string]string
	Inherit []string
	// Dir is the working directory of a stdio server; empty means that of the worker.
	Dir string
	// URL is the address of an HTTP server.
	URL string
	// Connection says that each call of a tool of an HTTP server names a connection, whose credential goes with
	// the requests of this call. Scopes are what the tools need of the connection.
	Connection bool
	Scopes     []string
	// TokenFrom names the variable of the worker with its own bearer token for an HTTP server. With Connection it
	// is for the list of the tools only. It is empty if the worker has none.
	TokenFrom string
	// ProtocolVersion is the revision of the protocol with which the session starts. Empty means the newest.
	ProtocolVersion string
	// StartTimeout bounds the start of a session with the listing of the tools; 0 means 30 seconds.
	StartTimeout time.Duration
	// CallTimeout bounds a call; 0 means a minute.
	CallTimeout time.Duration
	// Dial connects to the host of an HTTP server, as net.Dialer does. nil connects to any address. No file
	// has it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots verify the certificate of an HTTP server. nil are those of the system. No file has them.
	Roots *x509.CertPool
}

// Variables returns the variables of a stdio server: those of its configuration, and of the worker's only
// PATH, HOME and those that the configuration names. lookup returns a variable of the worker.
func (s Server) Variables(lookup func(name string) (value string, ok bool)) map[string]string {
	variables := map[string]string{}
	for _, name := range slices.Concat([]string{"PATH", "HOME"}, s.Inherit) {
		if value, ok := lookup(name); ok {
			variables[name] = value
		}
	}
	maps.Copy(variables, s.Env)
	return variables
}

func (s Server) withDefaults() Server {
	if s.StartTimeout == 0 {
		s.StartTimeout = defaultStartTimeout
	}
	if s.CallTimeout == 0 {
		s.CallTimeout = defaultCallTimeout
	}
	return s
}

// errOwnDial says that the connections of calls would go around the guard of a server.
var errOwnDial = errors.New("a server with a Dial or Roots of its own has no connections, which would go around them")

// Check returns an error that says what is wrong with the configuration, without values of Env.
func (s Server) Check() error {
	if err := toolspec.CheckServerID(s.ID); err != nil {
		return fmt.Errorf("the id %w", err)
	}
	switch {
	case s.StartTimeout < 0 || s.StartTimeout > maxStartTimeout:
		return fmt.Errorf("startTimeout must be at most %s", maxStartTimeout)
	case s.CallTimeout < 0 || s.CallTimeout > toolspec.MaxTimeout:
		return fmt.Errorf("callTimeout must be at most %s", toolspec.MaxTimeout)
	}
	switch s.Transport {
	case Stdio:
		return s.checkStdio()
	case Streamable, SSE:
		return s.checkHTTP()
	}
	return errors.New("transport must be stdio, streamable or sse")
}

func (s Server) checkStdio() error {
	switch {
	case s.Command == "":
		return errors.New("command is missing: name the program of the server")
	case s.URL != "":
		return errors.New("a server has either a command or a url")
	case s.Connection || len(s.Scopes) > 0 || s.TokenFrom != "":
		return errors.New("connection, scopes and tokenFrom are for servers with a url; a server with a command gets its credential by env or inherit")
	}
	for name := range s.Env {
		if err := checkVariable(name); err != nil {
			return err
		}
	}
	for _, name := range s.Inherit {
		if err := checkVariable(name); err != nil {
			return err
		}
		if _, both := s.Env[name]; both {
			return fmt.Errorf("the variable %s is both in env and in inherit", name)
		}
	}
	return nil
}

// checkVariable returns an error unless name can name a variable of the environment.
func checkVariable(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a variable is empty")
	case len(name) > maxVariable:
		return fmt.Errorf("the name of a variable may have at most %d bytes", maxVariable)
	case strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}):
		return errors.New("the name of a variable may hold only letters, digits and '_'")
	}
	return nil
}

func (s Server) checkHTTP() error {
	switch {
	case s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 || len(s.Inherit) > 0 || s.Dir != "":
		return errors.New("a server with a url has no command, args, env, inherit or cwd")
	case s.URL == "":
		return errors.New("url is missing")
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("url must be an absolute URL, such as https://mcp.example.com/mcp")
	case u.User != nil:
		return errors.New("url may not hold a user name or a password")
	case u.Fragment != "":
		return errors.New("url may not have a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLocal(u.Hostname())):
		return errors.New("url must begin with https://; http:// is for this machine (localhost) only")
	case len(s.Scopes) > 0 && !s.Connection:
		return errors.New("scopes are those of a connection: set connection: required, or leave them out")
	case s.Connection && s.ownDial():
		return errOwnDial
	case s.TokenFrom != "":
		return checkVariable(s.TokenFrom)
	}
	return nil
}

// ownDial reports whether the server says how it is connected to. The requests of a connection go another way.
func (s Server) ownDial() bool { return s.Dial != nil || s.Roots != nil }

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
