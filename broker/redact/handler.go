package redact

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// Handler returns a handler that passes each record to next without secrets. It redacts the
// message, and the names and values of attributes, also in groups, structs, errors, Stringers and
// bytes. It searches attributes of WithAttrs again for each record, because a secret may be
// registered after WithAttrs.
func Handler(next slog.Handler, secrets *fingerprint.Set) slog.Handler {
	return &handler{next: next, secrets: secrets}
}

type handler struct {
	next    slog.Handler
	secrets *fingerprint.Set
	// bound are the groups of WithGroup and the attributes of WithAttrs, in their order.
	bound []bound
}

// bound is a group that was opened, or attributes that were added.
type bound struct {
	group string
	attrs []slog.Attr
}

// Enabled returns what the next handler returns.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes the record to the next handler without secrets.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	next := h.next
	for _, b := range h.bound {
		if b.group != "" {
			next = next.WithGroup(h.secrets.Redact(b.group))
		} else {
			next = next.WithAttrs(h.attrs(b.attrs))
		}
	}
	clean := slog.NewRecord(r.Time, r.Level, h.secrets.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return next.Handle(ctx, clean)
}

// WithAttrs binds attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.with(bound{attrs: slices.Clone(attrs)})
}

// WithGroup opens a group.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(bound{group: name})
}

func (h *handler) with(b bound) slog.Handler {
	return &handler{next: h.next, secrets: h.secrets, bound: append(slices.Clip(h.bound), b)}
}

func (h *handler) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return clean
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: h.secrets.Redact(a.Key), Value: h.value(a.Value)}
}

func (h *handler) value(v slog.Value) slog.Value {
	if v.Kind() == slog.KindLogValuer && holds(v.Any()) {
		return slog.StringValue(fingerprint.Redacted)
	}
	switch v = v.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.secrets.Redact(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindAny:
		return h.any(v)
	default: // numbers, flags and times hold no secret
		return v
	}
}

// any returns a value without secrets. It returns v itself if no handler can print a secret of it.
func (h *handler) any(v slog.Value) slog.Value {
	held := v.Any()
	if holds(held) {
		return slog.StringValue(fingerprint.Redacted)
	}
	switch known := held.(type) {
	case nil:
		return v
	case error:
		// A text, because a handler could print the errors that an error wraps.
		return slog.StringValue(h.secrets.Redact(textOf(known)))
	case []byte:
		return h.instead(v, string(known))
	case json.RawMessage:
		return h.instead(v, string(known))
	}
	if h.secrets == nil || h.secrets.Len() == 0 {
		return v
	}
	text := sprint("%+v", held)
	encoded, _ := json.Marshal(held) //nolint:errchkjson // a value that has no JSON is never printed as JSON
	if len(h.secrets.FindString(text)) == 0 && len(h.secrets.Find(encoded)) == 0 {
		return v
	}
	if clean := h.secrets.Redact(text); clean != text {
		return slog.StringValue(clean)
	}
	return slog.StringValue(fingerprint.Redacted)
}

func (h *handler) instead(v slog.Value, text string) slog.Value {
	if clean := h.secrets.Redact(text); clean != text {
		return slog.StringValue(clean)
	}
	return v
}
