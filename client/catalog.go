package client

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Catalog returns the tools that a caller may see now, to offer them to a model. A call of another
// tool would be denied. Catalog restricts nothing: also put the tools of the run into the call's
// context.toolIds.
func (c *Client) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	if c.catalogs == nil {
		return catalog.Catalog{}, fmt.Errorf("client: catalog: %w", ErrNoCatalogs)
	}
	return c.catalogs.Catalog(ctx, by)
}

// PickTools returns the visible tools that fit a query best, for a model whose request cannot have
// the whole catalog. It reads the catalog and indexes it each time. A program that picks often
// keeps the result of Catalog and calls its Pick.
//
// A tool that was not picked is not denied: the gate judges its calls as any other. To restrict a
// run to the picked tools, put their ids into the calls' context.toolIds.
func (c *Client) PickTools(ctx context.Context, by catalog.Viewer, query catalog.Query) ([]catalog.Match, error) {
	visible, err := c.Catalog(ctx, by)
	if err != nil {
		return nil, err
	}
	return visible.Pick(query), nil
}
