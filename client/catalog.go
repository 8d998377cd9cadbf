package client

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Catalog returns the tools that a caller may see now, to offer them to a model. A
// tool that is not in it would be denied, called by its id all the same. It
// narrows nothing: put the tools of the run into the call's context.toolIds too.
func (c *Client) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	if c.catalogs == nil {
		return catalog.Catalog{}, errors.New("client: this client has no way to the catalog: set Options.Catalogs")
	}
	return c.catalogs.Catalog(ctx, by)
}
