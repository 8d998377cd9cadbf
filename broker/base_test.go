package broker

import (
	"errors"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestBaseURL: a tool that does not know the host of a connection gets the first, and no other host than one of the
// connection's.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts hosts
		host  string
		want  string
		err   error
	}{
		{hosts{patterns: []string{"*.example.com", "api.example.com", "b.example.com"}}, "", "https://api.example.com", nil},
		{hosts{patterns: []string{"api.example.com:8443"}}, "", "https://api.example.com:8443", nil},
		{hosts{patterns: []string{"*.example.com"}}, "", "", capability.ErrNoHost},
		{hosts{patterns: []string{"*.example.com"}}, "eu.example.com", "https://eu.example.com", nil},
		{hosts{patterns: []string{"*.example.com"}}, "example.com", "", capability.ErrForeignHost},
		{hosts{patterns: []string{"api.example.com"}}, "evil.example", "", capability.ErrForeignHost},
		{hosts{patterns: []string{"api.example.com"}}, "api.example.com:8443", "", capability.ErrForeignHost},
		{hosts{patterns: []string{"127.0.0.1:80"}, insecure: true}, "", "http://127.0.0.1:80", nil},
		{hosts{patterns: []string{"127.0.0.1:80"}, insecure: true}, "127.0.0.1:81", "", capability.ErrForeignHost},
		{hosts{patterns: []string{"2001:db8::1"}}, "", "https://[2001:db8::1]", nil},
		{hosts{patterns: []string{"2001:0DB8::0001"}}, "", "https://[2001:0DB8::0001]", nil},
		{hosts{patterns: []string{"2001:0db8:0::1"}}, "[2001:db8::1]", "https://[2001:db8::1]", nil},
		{hosts{patterns: []string{"2001:db8::1"}}, "[2001:db8::2]", "", capability.ErrForeignHost},
	} {
		got, err := c.hosts.baseURL(c.host)
		if !errors.Is(err, c.err) || err == nil && got.String() != c.want {
			t.Errorf("%v, %q: %v, %v", c.hosts, c.host, got, err)
		}
	}
}
