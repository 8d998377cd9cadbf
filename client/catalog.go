package client

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Catalog returns the tools that a caller may see now, to offer them to a model. A
// tool that is not in it would be denied, called by its id all the same. It
// narrows nothing: put the tools of the run into the call's context.toolIds too.
func (c *Client) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	if c.catalogs == nil {
		return catalog.Catalog{}, fmt.Errorf("client: catalog: %w", ErrNoCatalogs)
	}
	return c.catalogs.Catalog(ctx, by)
}

// PickTools returns the tools that a caller may see now and that fit a query best:
// what to offer a model of a catalog that is too large for a request. It reads the
// catalog and makes an index of it each time. A program that picks often keeps the
// result of Catalog and calls its Pick.
//
// A tool that was not picked is not denied: called all the same, it is judged by
// the gate as any other. To keep a run to what was picked, put the ids into the
// calls' context.toolIds.
func (c *Client) PickTools(ctx context.Context, by catalog.Viewer, query catalog.Query) ([]catalog.Match, error) {
	visible, err := c.Catalog(ctx, by)
	if err != nil {
		return nil, err
	}
	return visible.Pick(query), nil
}
