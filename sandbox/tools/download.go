package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
)

// DownloadTimeout is how long download_file may take, from the look-up to the last byte.
const DownloadTimeout = 5 * time.Minute

// DownloadRules bounds download_file. The zero value is useful.
type DownloadRules struct {
	// MaxBytes is the size of a file. 0 means the profile's limit for one file.
	MaxBytes int64
	// Timeout is how long a download may take. 0 means DownloadTimeout.
	Timeout time.Duration
	// Guard says which addresses may be reached: public ones, and what it allows.
	Guard netguard.Guard
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
	if err := netguard.CheckURL(u); err != nil {
		return Written{}, downloadFault(err)
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
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, sandbox.Invalid(string(NameDownloadFile), "%q is no URL", short(u.String()))
	}
	r.Header.Set("User-Agent", "toolcell")
	reply, err := t.Download.Guard.Client(timeout).Do(r)
	if err != nil {
		return 0, downloadFault(err)
	}
	defer reply.Body.Close()
	switch {
	case reply.StatusCode >= 500 || reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode == http.StatusRequestTimeout:
		return 0, downloadFault(fmt.Errorf("the server answered %s", short(reply.Status))) // another time it may not
	case reply.StatusCode != http.StatusOK:
		return 0, sandbox.Invalid(string(NameDownloadFile), "the server answered %s", short(reply.Status))
	case reply.ContentLength > limit:
		return 0, tooLarge(limit)
	}
	return s.put(NameDownloadFile, func(w io.Writer) (int64, error) { return copyLimited(w, reply.Body, limit) })
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

// downloadFault makes the error of a download: a refusal when the address is forbidden, else one that may pass.
func downloadFault(err error) error {
	if errors.Is(err, netguard.ErrForbidden) {
		return &sandbox.Error{Kind: sandbox.KindRefused, Op: string(NameDownloadFile), Cause: err, Fix: "use a public http or https address"}
	}
	return fmt.Errorf("%s: %w", NameDownloadFile, err)
}
