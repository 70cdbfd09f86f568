package tools

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// DownloadTimeout is how long download_file may take, from the look-up to the last byte.
const DownloadTimeout = 5 * time.Minute

// Fetcher opens files of the web. netguard.Guard is one, which reaches public addresses only. It is a matter of the program,
// so that one without downloads needs no HTTP.
type Fetcher interface {
	// Fetch opens what is at u and returns its size, or -1. The error is of kind [sandbox.KindRefused] when the address may
	// not be reached, also after a redirect, and of kind [sandbox.KindInvalid] when the server does not have it; any other
	// may pass. The caller closes the body. The end of ctx ends the reading too.
	Fetch(ctx context.Context, u *url.URL) (body io.ReadCloser, size int64, err error)
}

// DownloadRules bounds download_file. The zero value refuses it.
type DownloadRules struct {
	// MaxBytes is the size of a file. 0 means the profile's limit for one file.
	MaxBytes int64
	// Timeout is how long a download may take. 0 means DownloadTimeout.
	Timeout time.Duration
	// Fetcher gets the files. nil refuses every call.
	Fetcher Fetcher
}

// DownloadArgs are the arguments of download_file.
type DownloadArgs struct {
	// URL is what to fetch: http or https, at a public address.
	URL string
	// Path is where to write it; see [WriteArgs].
	Path string
	// Isolation is ""; IsolationSandbox is refused, since no program runs.
	Isolation string
}

// DownloadFile fetches a file into the roots. It is written as a whole or not at all, and a failure leaves nothing. An
// address that is not public is refused, also after a redirect.
func (t Tools) DownloadFile(ctx context.Context, a DownloadArgs) (Written, error) {
	p, err := t.enter(ctx, Request{Tool: NameDownloadFile, Isolation: a.Isolation})
	if err != nil {
		return Written{}, err
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return Written{}, sandbox.Invalid(string(NameDownloadFile), "%q is no URL", short(a.URL))
	}
	if t.Download.Fetcher == nil {
		return Written{}, refused(string(NameDownloadFile), "this program downloads nothing")
	}
	if a.URL == "" || a.Path == "" {
		return Written{}, sandbox.Invalid(string(NameDownloadFile), "url and path are required")
	}
	s, err := t.locate(NameDownloadFile, a.Path)
	if err != nil {
		return Written{}, err
	}
	defer s.Close()
	limit := p.fileLimit()
	if t.Download.MaxBytes > 0 {
		limit = min(limit, t.Download.MaxBytes)
	}
	n, err := t.fetch(ctx, u, s, limit)
	if err != nil {
		return Written{}, err
	}
	return Written{Path: a.Path, Bytes: n}, nil
}

// fetch writes what is at u, at most limit bytes, as the spot's file.
func (t Tools) fetch(ctx context.Context, u *url.URL, s spot, limit int64) (int64, error) {
	timeout := t.Download.Timeout
	if timeout <= 0 {
		timeout = DownloadTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, size, err := t.Download.Fetcher.Fetch(ctx, u)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", NameDownloadFile, err)
	}
	defer body.Close()
	if size > limit {
		return 0, tooLarge(limit)
	}
	return s.put(NameDownloadFile, func(w io.Writer) (int64, error) { return copyLimited(w, body, limit) })
}

// copyLimited copies r to its end, or fails when that is beyond limit.
func copyLimited(w io.Writer, r io.Reader, limit int64) (int64, error) {
	n, err := io.Copy(w, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit)
	}
	return n, err
}

func tooLarge(limit int64) error {
	return sandbox.Invalid(string(NameDownloadFile), "the file is larger than %d bytes", limit)
}
