package capability

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"
	"unsafe"
)

const canary = "canary-9Xk2Lq7Wv4"

// TestSecretShowsNothing: no verb, encoder or log shows the secret, and reflection does not find it in memory (fault 51).
func TestSecretShowsNothing(t *testing.T) {
	s := NewSecret([]byte(canary))
	holder := struct {
		Open   Secret
		Ptr    *Secret
		Any    any
		hidden Secret
	}{s, &s, s, s}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "secret", s, "pointer", &s, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "pointer", &s, "holder", holder)
	var filled bytes.Buffer
	if err := template.Must(template.New("").Parse("{{.Open}} {{.Ptr}} {{printf \"%x\" .Open}}")).Execute(&filled, holder); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"log": log.String(), "template": filled.String(), "error": fmt.Errorf("with %v: %w", s, errors.New("x")).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T", "%p", "%10.3s"} {
		shown[verb] = fmt.Sprintf(verb, s)
		shown["pointer "+verb] = fmt.Sprintf(verb, &s)
		shown["holder "+verb] = fmt.Sprintf(verb, holder)
		shown["list "+verb] = fmt.Sprintf(verb, []any{s, &s, map[string]Secret{"k": s}})
	}
	for how, text := range shown {
		for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), "99 97 110 97 114 121"} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows it: %s", how, text)
			}
		}
	}
	for how, encode := range map[string]func(any) error{
		"json": func(v any) error { _, err := json.Marshal(v); return err },
		"xml":  func(v any) error { return xml.NewEncoder(&bytes.Buffer{}).Encode(v) },
		"gob":  func(v any) error { return gob.NewEncoder(&bytes.Buffer{}).Encode(v) },
	} {
		for name, v := range map[string]any{"value": s, "pointer": &s, "field": struct{ S Secret }{s}} {
			if err := encode(v); err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s of a %s: %v", how, name, err)
			}
		}
	}
	if walk(reflect.ValueOf(holder), 0) {
		t.Error("reflection finds it")
	}
}

// walk looks for the bytes in all values that reflection reaches, including unexported fields.
func walk(v reflect.Value, depth int) bool {
	if depth > 8 {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(v.String(), canary)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return strings.Contains(fmt.Sprintf("%s", v), canary)
		}
		for i := range v.Len() {
			if walk(v.Index(i), depth+1) {
				return true
			}
		}
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && walk(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if field.CanAddr() {
				field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() //nolint:gosec // what a printer may do
			}
			if walk(field, depth+1) {
				return true
			}
		}
	}
	return false
}

// TestDestroy: the bytes are overwritten, for every copy.
func TestDestroy(t *testing.T) {
	value := []byte(canary)
	s := NewSecret(value)
	other := s
	if string(s.Reveal()) != canary {
		t.Error("the secret has another value")
	}
	s.Destroy()
	s.Destroy()
	if other.Reveal() != nil || strings.Trim(string(value), "\x00") != "" {
		t.Errorf("left: %q", value)
	}
	var none Secret
	none.Destroy()
	if none.Reveal() != nil {
		t.Error("nothing holds something")
	}
}
