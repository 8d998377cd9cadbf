package worker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy/authz/authztest"
)

// TestAuthorizer: a worker has exactly one engine. Without a configured engine it has the built-in engine.
func TestAuthorizer(t *testing.T) {
	fga := OpenFGA{URL: "http://fga:8080", StoreID: "s"}
	for _, tc := range []struct {
		name    string
		options []Option
		fga     OpenFGA
		want    string
		fault   string
	}{
		{"none", nil, OpenFGA{}, "identities.Authorizer", ""},
		{"the user's", []Option{Authorizer(authztest.AllowAll{})}, OpenFGA{}, "identities.trusting", ""},
		{"OpenFGA", nil, fga, "identities.trusting", ""},
		{"nil", []Option{Authorizer(nil)}, OpenFGA{}, "", "was given nil"},
		{"two", []Option{Authorizer(authztest.AllowAll{}), Authorizer(authztest.DenyAll())}, OpenFGA{}, "", "two authorization engines"},
		{"one of each", []Option{Authorizer(authztest.AllowAll{})}, fga, "", "two authorization engines"},
		{"OpenFGA without a store", nil, OpenFGA{URL: "http://fga:8080"}, "", "config: PAWL_OPENFGA_*: openfga: the id of the store"},
		{"OpenFGA without an address", nil, OpenFGA{StoreID: "s", Token: "s3same"}, "", "config: PAWL_OPENFGA_*: openfga: the address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := added(tc.options)
			o := &opened{}
			defer o.close()
			got, err := authorizer(o, Config{OpenFGA: tc.fga}, &postgres.Store{}, a, slog.New(slog.DiscardHandler))
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), "s3same") || got != nil {
					t.Errorf("got %v, %v, want %q", got, err, tc.fault)
				}
				return
			}
			if err != nil || fmt.Sprintf("%T", got) != tc.want {
				t.Errorf("got %T, %v, want %s", got, err, tc.want)
			}
		})
	}
}
