package netguard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// Fetch opens what is at u and returns its size, or -1. A forbidden address, or a redirect to one, is an error of kind
// [sandbox.KindRefused], and an answer that will not change one of kind [sandbox.KindInvalid]. The end of ctx ends the
// reading of the body too.
func (g Guard) Fetch(ctx context.Context, u *url.URL) (io.ReadCloser, int64, error) {
	if err := CheckURL(u); err != nil {
		return nil, 0, forbidden(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, sandbox.Invalid("", "%q is no URL", u.Redacted())
	}
	r.Header.Set("User-Agent", "toolcell")
	reply, err := g.Client(0).Do(r)
	if err != nil {
		return nil, 0, forbidden(err)
	}
	if reply.StatusCode == http.StatusOK {
		return reply.Body, reply.ContentLength, nil
	}
	if err := reply.Body.Close(); err != nil {
		return nil, 0, err
	}
	return nil, 0, statusError(reply)
}

// statusError is why there is no file. What another attempt may change is no error of a kind.
func statusError(reply *http.Response) error {
	status := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) { // they are the server's own words
			return '?'
		}
		return r
	}, reply.Status[:min(len(reply.Status), 100)])
	if reply.StatusCode >= 500 || reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode == http.StatusRequestTimeout {
		return errors.New("the server answered " + status)
	}
	return sandbox.Invalid("", "the server answered %s", status)
}

// forbidden makes a refusal of an error about a forbidden address and leaves any other as it is.
func forbidden(err error) error {
	if !errors.Is(err, ErrForbidden) {
		return err
	}
	return &sandbox.Error{Kind: sandbox.KindRefused, Cause: err, Fix: "use a public http or https address"}
}
