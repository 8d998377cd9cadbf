package app

import "testing"

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                "",
		"postgres://u:s3same@h:5432/d":    "postgres://u@h:5432/d",
		"postgres://h/d?password=s3same":  "postgres://h/d",
		"postgres://u@h/d?sslmode=verify": "postgres://u@h/d",
		"host=h password=s3same":          "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u:s3same@%zz/d":       "(set, and not of the form postgres://user:password@host/database)",
		// A password that is not percent-encoded may be in any part of the URL.
		"postgres://u:12/s3same@h/d":             "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u:12?s3same@h/d":             "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u:12#s3same@h/d":             "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u:s3@same/x@h/d":             "(set, and not of the form postgres://user:password@host/database)",
		"postgres://u%40x:s3%40same@h:5432/d%40": "postgres://u%40x@h:5432/d@",
		"postgres:///d?password=s3same":          "(set, and not of the form postgres://user:password@host/database)",
	} {
		if got := WithoutPassword(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
