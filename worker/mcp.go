package worker

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// mcpSources returns a source for each MCP server of the configuration.
func mcpSources(c Config, servers []mcp.Server, reviews *mcpReviews) (all []source.Source, err error) {
	for _, server := range servers {
		from, err := mcp.NewSource(server, mcp.Options{Reviews: reviews, Log: c.Log, Lookup: os.LookupEnv})
		if err != nil {
			return nil, fmt.Errorf("config: PAWL_MCP_SERVERS: the server %s: %w", server.ID, err)
		}
		all = append(all, from)
	}
	return all, nil
}

// mcpSecrets returns the tokens of the worker for HTTP servers, and the variables of stdio servers whose names end with
// the name of a credential, such as GITHUB_TOKEN. A server knows these secrets, so the worker searches its answers for
// them.
func mcpSecrets(servers []mcp.Server) (all []fingerprint.Credential) {
	for _, server := range servers {
		if token, ok := os.LookupEnv(server.TokenFrom); ok && server.TokenFrom != "" {
			all = append(all, fingerprint.Credential{Label: "the token of the worker for the MCP server " + server.ID, Secret: []byte(token)})
		}
		for name, value := range server.Variables(os.LookupEnv) {
			if namesCredential(name) {
				all = append(all, fingerprint.Credential{Label: "the variable " + name + " of the MCP server " + server.ID, Secret: []byte(value)})
			}
		}
	}
	return all
}

// namesCredential reports whether the last words of a variable are the name of a credential.
func namesCredential(variable string) bool {
	for rest, more := variable, true; more; _, rest, more = strings.Cut(rest, "_") {
		if toolspec.SecretName(rest) {
			return true
		}
	}
	return false
}

// readMCPServers reads the file of MCP servers. Without a file it returns no servers.
func readMCPServers(file string) (servers []mcp.Server, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("config: PAWL_MCP_SERVERS: %w", err)
		}
	}()
	if file == "" {
		return nil, nil
	}
	doc, err := readFile(file, strictyaml.MaxDocument)
	if err != nil {
		return nil, err
	}
	return mcp.ReadServers(file, doc)
}

// mcpReviews are the reviews of MCP tools in the active policy. The policy watch keeps them current.
type mcpReviews struct {
	mu      sync.Mutex
	active  *policy.Policy
	changed chan struct{}
}

func newMCPReviews() *mcpReviews { return &mcpReviews{changed: make(chan struct{})} }

// Review returns the review of a tool by its name at its server.
func (r *mcpReviews) Review(server, tool string) (policy.MCPReview, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active.Review(server, tool)
}

// Changed returns a channel that is closed when another policy becomes active.
func (r *mcpReviews) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// set makes p the active policy.
func (r *mcpReviews) set(p *policy.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = p
	close(r.changed)
	r.changed = make(chan struct{})
}
