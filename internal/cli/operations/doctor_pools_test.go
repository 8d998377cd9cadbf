package operations

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres/catalog"
)

func TestDoctorPools(t *testing.T) {
	t.Parallel()
	calls := map[string]int64{"pawl-audio": 0, "pawl-media": 3}
	open := func(queue string) (int64, error) {
		if n, ok := calls[queue]; ok {
			return n, nil
		}
		return 0, errors.New("no visibility")
	}
	for _, c := range []struct {
		pools []catalog.Pool
		ok    bool
		says  string
	}{
		{nil, true, ""},
		{[]catalog.Pool{{Name: "audio"}, {Name: "media", Running: 2}, {Name: "other", Running: 1}}, true,
			"audio has no worker and no open call; media has 2 workers and 3 open calls; other has 1 worker"},
		{[]catalog.Pool{{Name: "media", Live: 1}}, false, "media has no worker and 3 open calls: start a worker with PAWL_POOL=media;"},
	} {
		d := diagnosis{pools: c.pools}
		d.checkPools(open)
		switch {
		case c.says == "" && len(d.Checks) == 0:
		case len(d.Checks) != 1 || d.Checks[0].OK != c.ok || !strings.HasPrefix(d.Checks[0].Message, c.says):
			t.Errorf("%v: %+v, want %s", c.pools, d.Checks, c.says)
		}
	}
}
