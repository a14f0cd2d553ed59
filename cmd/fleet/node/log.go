package node

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
)

// NewLogger makes the node's logger: coloured text on a terminal, plain text elsewhere, JSON where asked for.
func NewLogger(w io.Writer, c Log) *slog.Logger {
	level := slog.LevelInfo
	switch c.Level {
	case "debug":
		level = slog.LevelDebug
	case "warn":
		level = slog.LevelWarn
	case "error":
		level = slog.LevelError
	}
	options := &slog.HandlerOptions{Level: level}
	switch {
	case c.Format == "json":
		return slog.New(slog.NewJSONHandler(w, options))
	case c.Format != "text" && terminal(w):
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly}))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// terminal says whether w is a character device, which is near enough to ask for colours.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
