package server

import (
	"context"
	"errors"
	"log/slog"
)

// errGone is why a call ended whose client went away.
var errGone = errors.New("the client went away")

// quietHandler takes what the SDK logs as information, every connection and message, for what it is: debugging.
type quietHandler struct{ slog.Handler }

func quiet(l *slog.Logger) *slog.Logger { return slog.New(quietHandler{l.Handler()}) }

// level is one step less than what the SDK says. It logs as an error what a client did wrong and was told.
func level(l slog.Level) slog.Level { return l - (slog.LevelError - slog.LevelWarn) }

// Enabled implements [slog.Handler].
func (h quietHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, level(l))
}

// Handle implements [slog.Handler].
func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = level(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}
