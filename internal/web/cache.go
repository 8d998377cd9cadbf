package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/pquerna/cachecontrol"
	"github.com/pquerna/cachecontrol/cacheobject"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of the pages that are kept.
const (
	maxKept     = 128
	maxKeptText = 256 << 10
	// maxFresh bounds how long a page is used without asking the server.
	maxFresh = time.Hour
)

// kept is a page with what the server said of its age.
type kept struct {
	page           capability.WebPage
	etag, modified string
	until          time.Time
}

// fresh reports whether the page may be used without asking the server.
func (k *kept) fresh() bool { return k != nil && time.Now().Before(k.until) }

// condition asks the server for the page only if it has changed.
func (k *kept) condition(h http.Header) {
	if k == nil {
		return
	}
	if k.etag != "" {
		h.Set("If-None-Match", k.etag)
	}
	if k.modified != "" {
		h.Set("If-Modified-Since", k.modified)
	}
}

// keep keeps a page of an answer, as far as its headers allow.
func (f *Fetcher) keep(key string, a *answer, page capability.WebPage) {
	headers := a.response.Header
	old, _ := f.pages.Get(key)
	f.pages.Remove(key)
	if len(page.Text) > maxKeptText || len(page.Image) > 0 || headers.Get("Vary") == "*" {
		return
	}
	status := http.StatusOK // a 304 renews the page that it stands for
	if a.status != http.StatusNotModified {
		status = a.status
	}
	reasons, until, err := cachecontrol.CachableResponse(a.request, &http.Response{StatusCode: status, Header: headers}, cachecontrol.Options{PrivateCache: true})
	if err != nil || len(reasons) > 0 {
		return
	}
	k := &kept{page: page, etag: headers.Get("ETag"), modified: headers.Get("Last-Modified"), until: until}
	if a.status == http.StatusNotModified && old != nil {
		if k.etag == "" {
			k.etag = old.etag
		}
		if k.modified == "" {
			k.modified = old.modified
		}
	}
	if age, err := strconv.Atoi(headers.Get("Age")); err == nil && age > 0 {
		k.until = k.until.Add(-time.Duration(min(age, int(maxFresh/time.Second))) * time.Second)
	}
	if d, err := cacheobject.ParseResponseCacheControl(headers.Get("Cache-Control")); err != nil || d.NoCachePresent {
		k.until = time.Time{} // it may be kept, but the server is asked each time
	}
	if latest := time.Now().Add(maxFresh); k.until.After(latest) {
		k.until = latest
	}
	if !k.fresh() && k.etag == "" && k.modified == "" {
		return
	}
	f.pages.GetOrAdd(key, func() *kept { return k })
}
