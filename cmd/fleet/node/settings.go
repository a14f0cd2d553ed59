package node

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/viper"

	"fleetrelay/hub/wire"
)

// kind is what a setting's value must be.
type kind int

const (
	textKind kind = iota
	listKind
	boolKind
	numberKind
	timeKind
)

// keys are all settings, in the order of the file init writes.
var keys = []string{
	"hub", "agents", "links", "announce", "agents_tls.cert", "agents_tls.key", "allowed_hosts", "allowed_origins", "private_directed",
	"limits.sockets", "limits.per_host", "limits.unauthenticated", "limits.frame_bytes", "limits.registration_timeout", "log.level", "log.format",
}

// kindOf is what the value of one of keys must be.
func kindOf(key string) kind {
	switch key {
	case "announce", "allowed_hosts", "allowed_origins":
		return listKind
	case "private_directed":
		return boolKind
	case "limits.sockets", "limits.per_host", "limits.unauthenticated", "limits.frame_bytes":
		return numberKind
	case "limits.registration_timeout":
		return timeKind
	}
	return textKind
}

// sources say where the value of a key came from, where that is not the file: a variable or a flag.
type sources map[string]string

// invalid is the refusal of a setting's value. It names the place the operator has to correct.
func (s sources) invalid(path, key, text string, args ...any) error {
	text = key + ": " + fmt.Sprintf(text, args...)
	next := "correct it; docs/operating.md lists every setting"
	switch from := s[key]; {
	case from == "":
		text = path + ": " + text
	case strings.HasPrefix(from, "--"):
		text = from + ": " + strings.TrimPrefix(text, key+": ")
		next = "correct " + from + "; docs/operating.md lists every setting"
	default:
		text = from + ": " + text
		next = "correct the variable " + from + "; docs/operating.md lists every setting"
	}
	return &Refusal{Reason: wire.ReasonInvalidConfig, Text: text, Next: Advice(next)}
}

// checkKinds refuses values that do not fit their settings, in words of our own: the decoder's speak of Go.
func (s sources) checkKinds(v *viper.Viper, path string) error {
	for _, key := range keys {
		value := v.Get(key)
		if value == nil {
			continue
		}
		if text := kindOf(key).misfit(value); text != "" {
			return s.invalid(path, key, "%s", text)
		}
	}
	return nil
}

// misfit says what is wrong with a value of this kind, "" if nothing is.
func (k kind) misfit(value any) string {
	text := fmt.Sprint(value)
	switch k {
	case listKind:
		return misfitList(value)
	case boolKind:
		if _, err := strconv.ParseBool(text); err != nil {
			return strconv.Quote(text) + " is not true or false"
		}
	case numberKind:
		if _, err := strconv.Atoi(text); err != nil {
			return strconv.Quote(text) + " is no whole number"
		}
	case timeKind:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.Quote(text) + " has no unit: write " + text + "s for seconds, for example 10s"
		}
		if _, err := time.ParseDuration(text); err != nil {
			return strconv.Quote(text) + " is no time: write a number with its unit, for example 10s"
		}
	case textKind:
		if !scalar(value) {
			return "it is a list or a section and must be one text"
		}
	}
	return ""
}

func misfitList(value any) string {
	list, ok := value.([]any)
	if !ok {
		if !scalar(value) {
			return "it is a section and must be a list"
		}
		return "" // one text is a list, separated by commas
	}
	if slices.ContainsFunc(list, func(v any) bool { return !scalar(v) }) {
		return "it holds more than texts"
	}
	return ""
}

func scalar(value any) bool {
	switch value.(type) {
	case []any, map[string]any, map[any]any, nil:
		return false
	}
	return true
}

// sectionValue finds a section that was given a value of its own instead of settings.
func sectionValue(raw map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if _, ok := raw[key].(map[string]any); !ok && raw[key] != nil && isSection(key) {
			return key
		}
	}
	return ""
}
