package mcp

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the list of tools.
const (
	// maxTools bounds the tools of a server.
	maxTools = 1000
	// maxPages bounds the pages of the list.
	maxPages = 100
	// maxList bounds the definitions of all tools, in bytes.
	maxList = 8 << 20
)

var (
	errTooManyTools = errors.New("the server offers more than 1000 tools")
	errTooManyPages = errors.New("the list of the server's tools has more than 100 pages")
	errListTooLarge = errors.New("the definitions of the server's tools have more than 8 MiB")
	errNoTools      = errors.New("the server has no tools")
)

// list returns all tools of the server.
func (se *session) list(ctx context.Context) ([]definition, error) {
	if init := se.client.InitializeResult(); init == nil || init.Capabilities == nil || init.Capabilities.Tools == nil {
		return nil, errNoTools
	}
	var all []definition
	bytes := 0
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := se.page(ctx, params)
		if err != nil {
			return nil, se.cause(err)
		}
		// The SDK keeps the whole page, also what is not part of a definition.
		size, err := json.Marshal(page)
		if err != nil {
			return nil, err
		}
		if bytes += len(size); bytes > maxList {
			return nil, errListTooLarge
		}
		for _, t := range page.Tools {
			if len(all) == maxTools {
				return nil, errTooManyTools
			}
			all = append(all, definitionOf(t))
		}
		if page.NextCursor == "" {
			se.listed.Store(digests(all))
			return all, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, errTooManyPages
}

// digests returns the digests of definitions by name.
func digests(all []definition) *map[string]string {
	byName := make(map[string]string, len(all))
	for _, d := range all {
		byName[d.Name] = d.digest
	}
	return &byName
}

// hasDefinition reports whether the server listed exactly this definition of a tool last.
func (se *session) hasDefinition(tool, digest string) bool {
	listed := se.listed.Load()
	return listed != nil && (*listed)[tool] == digest
}

// page returns a page of the list. It returns when ctx ends, also if the SDK cannot write.
func (se *session) page(ctx context.Context, params *sdk.ListToolsParams) (*sdk.ListToolsResult, error) {
	type answer struct {
		page *sdk.ListToolsResult
		err  error
	}
	done := make(chan answer, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		page, err := se.client.ListTools(ctx, params)
		done <- answer{page, err}
	}()
	select {
	case a := <-done:
		return a.page, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-se.in.broken:
		return nil, errLost
	}
}
